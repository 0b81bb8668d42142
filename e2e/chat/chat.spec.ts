// Chat. In: the built chat page on a phone. Out: whether a user can talk to the embedded model and find the
// conversation again.
import { expect, test } from '@playwright/test'
import { violations } from '../violations.ts'
import {
  answers,
  ask,
  bodies,
  composer,
  conversationsStored,
  kept,
  keptStamp,
  openChat,
  openSettings,
  overflowing,
  ready,
  set,
  slowDown,
  unfoldSettings,
  watch,
} from './chat-page.ts'
import { storeChats } from './stored/stored-chats.ts'

const STORY = 'Tell me a story about a fox.'
/** The embedded model's answers are short. These settings make it ramble, the same way each time. */
const LONG = {
  'Top k': '0',
  'Top p': '1',
  'Min p': '0',
  Temperature: '1.5',
  'Repeat penalty': '1',
  Seed: '1',
}

test('two turns stream, the second is stopped half-way, and both survive a reload', async ({ page }) => {
  const { problems } = await openChat(page)
  await set(page, LONG)
  await slowDown(page, 4)
  const lengths = await watch(page)
  await ask(page, STORY)
  const grown = await lengths()
  expect(new Set(grown).size, `the answer grew in steps: ${grown}`).toBeGreaterThan(2)
  expect(grown, 'the answer never shrank').toEqual([...grown].sort((a, b) => a - b))
  await expect(page.locator('[data-stat=speed]')).toContainText(/\d tokens\/s/)
  await expect(page.locator('[data-stat=memory]')).toContainText(/\d MB/)

  await watch(page, 10)
  await ask(page, 'Tell me a story about a bear.')
  await expect(answers(page).last().locator('.ending')).toHaveText('Stopped')
  const stopped = await answers(page).last().locator('.body').innerText()
  expect(stopped.length).toBeGreaterThanOrEqual(10)
  await page.waitForTimeout(300)
  expect(await answers(page).last().locator('.body').innerText(), 'nothing grows after the stop').toBe(
    stopped,
  )

  const before = await bodies(page).allInnerTexts()
  expect(before).toHaveLength(4)
  await page.reload()
  // Messages far above are rendered once the user scrolls to them, and on a slow machine a stopped answer is
  // longer.
  const shown = async () => {
    await bodies(page).first().scrollIntoViewIfNeeded()
    return bodies(page).allInnerTexts()
  }
  await expect.poll(shown).toEqual(before)
  await ready(page)
  await set(page, { 'Longest answer': '20' })
  await ask(page, 'And then?')
  await expect(bodies(page)).toHaveCount(6)
  await expect(answers(page).last().locator('.body')).not.toBeEmpty()
  expect(problems).toEqual([])
})

test('the effect of a tap is shown before the next tap can arrive', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '60' })
  await composer(page).fill(STORY)
  const shown = await page.evaluate(async () => {
    document.querySelector<HTMLButtonElement>('button[aria-label=Send]')?.click()
    // Input events arrive in separate tasks; this waits for the next one.
    await new Promise((done) => setTimeout(done))
    return {
      isStoppable: document.querySelector('button[aria-label=Stop]') !== null,
      edit: document.querySelector<HTMLButtonElement>('.message.user button:nth-of-type(2)')?.disabled,
    }
  })
  expect(shown).toEqual({ isStoppable: true, edit: true })
  await ready(page)
})

test('the same seed gives the same answer, and the engine state after a reload equals the one before', async ({
  page,
}) => {
  await openChat(page)
  await set(page, { Seed: '11', 'Longest answer': '40' })
  await ask(page, 'Hello!')
  await expect.poll(() => kept(page)).toBe(1)
  const stored = await keptStamp(page)
  await ask(page, STORY)
  const first = await answers(page).last().locator('.body').innerText()
  await expect.poll(() => keptStamp(page)).not.toBe(stored)
  await page.reload()
  await ready(page)
  await page.getByRole('button', { name: 'Regenerate' }).click()
  await ready(page)
  await expect(answers(page).last().locator('.body')).toHaveText(first, { useInnerText: true })
})

test('an edited message is answered again, and the earlier version is one tap away', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '20' })
  await ask(page, 'Hello!')
  await ask(page, 'What is your name?')
  await expect(bodies(page)).toHaveCount(4)
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
  await page.getByRole('textbox', { name: 'Edit your message' }).fill('Good morning!')
  await page.getByRole('button', { name: 'Send again' }).click()
  await ready(page)
  await expect(bodies(page)).toHaveCount(2)
  await expect(page.locator('.message.user .body')).toHaveText('Good morning!')
  await expect(answers(page).locator('.body')).not.toBeEmpty()
  await expect(page.locator('.message.user button:focus'), 'the focus stays at the message').toHaveCount(1)
  const earlier = page.getByRole('button', { name: 'Earlier version' })
  await expect(page.locator('.versions [role=status]')).toHaveText('Version 2/2')
  await earlier.click()
  await expect(page.locator('.message.user .body')).toHaveText(['Hello!', 'What is your name?'])
  await conversationsStored(page)
  await page.reload()
  await expect(page.locator('.message.user .body')).toHaveText(['Hello!', 'What is your name?'])
  await ready(page)
  await expect(earlier).toBeDisabled()
  await page.getByRole('button', { name: 'Later version' }).click()
  await expect(page.locator('.message.user .body')).toHaveText('Good morning!')
})

test('on a phone, Enter inserts a line break, and no keyboard opens by itself', async ({ page }) => {
  await openChat(page)
  await expect(composer(page)).not.toBeFocused()
  await expect(composer(page)).toHaveAttribute('enterkeyhint', 'enter')
  await composer(page).fill('one')
  await composer(page).press('Enter')
  await page.keyboard.type('two')
  await expect(composer(page)).toHaveValue('one\ntwo')
  await composer(page).press('Control+Enter')
  await expect(page.locator('.message.user .body')).toHaveText('one\ntwo', { useInnerText: true })
})

test('text follows the direction of its own script', async ({ page }) => {
  await openChat(page)
  await storeChats(page, [
    {
      id: 'rtl',
      messages: [
        { role: 'user', content: 'שלום' },
        { role: 'assistant', content: 'مرحبا بك\n\nHello\n\n- نعم' },
      ],
    },
  ])
  await page.reload()
  await ready(page)
  const directions = (selector: string) =>
    page.locator(selector).evaluateAll((parts) => parts.map((part) => getComputedStyle(part).direction))
  expect(await directions('.message.user .body')).toEqual(['rtl'])
  expect(await directions('.message.assistant .body p')).toEqual(['rtl', 'ltr'])
  expect(await directions('.message.assistant .body li')).toEqual(['rtl'])
  await composer(page).fill('שלום')
  expect(await directions('.composer textarea')).toEqual(['rtl'])
})

test('another answer replaces the last one, which can be restored', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '30', Seed: '1' })
  await ask(page, STORY)
  const first = await answers(page).locator('.body').innerText()
  await set(page, { Seed: '2' })
  await page.getByRole('button', { name: 'Regenerate' }).click()
  await ready(page)
  await expect(bodies(page)).toHaveCount(2)
  await expect(answers(page).locator('.body')).not.toHaveText(first, { useInnerText: true })
  const second = await answers(page).locator('.body').innerText()
  await ask(page, 'And then?')
  await page.getByRole('button', { name: 'Earlier version' }).click()
  await expect(bodies(page)).toHaveText([STORY, first], { useInnerText: true })
  await expect(page.getByRole('button', { name: 'Later version' })).toBeFocused()
  await page.reload()
  await ready(page)
  await expect(bodies(page)).toHaveText([STORY, first], { useInnerText: true })
  await page.getByRole('button', { name: 'Later version' }).click()
  await expect(bodies(page)).toHaveCount(4)
  await expect(bodies(page).nth(1)).toHaveText(second, { useInnerText: true })
})

test('a fork continues from an answer and leaves the conversation as it was', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'Hello!')
  await ask(page, 'What is your name?')
  await page.getByRole('button', { name: /^Fork/ }).first().click()
  await expect(page.locator('.message.user .body')).toHaveText('Hello!')
  await ask(page, 'Good night')
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await expect(page.locator('conversation-drawer li')).toHaveCount(2)
  await page.getByRole('link', { name: 'Hello!', exact: true }).last().click()
  await expect(page.locator('.message.user .body')).toHaveText(['Hello!', 'What is your name?'])
})

test('conversations are listed, opened and deleted', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'First conversation')
  const drawer = page.getByRole('button', { name: 'Conversations', exact: true })
  await drawer.click()
  await page.getByRole('button', { name: 'New chat', exact: true }).click()
  await expect(bodies(page)).toHaveCount(0)
  await expect(composer(page)).toBeFocused()
  await ask(page, 'Second conversation')
  await drawer.click()
  await page.getByRole('link', { name: 'First conversation', exact: true }).click()
  await expect(page.locator('.message.user .body')).toHaveText('First conversation')
  await drawer.click()
  await page.getByRole('button', { name: 'Delete Second conversation', exact: true }).click()
  const undo = page.getByRole('button', { name: 'Undo: restore Second conversation' })
  await expect(undo).toBeFocused()
  await undo.click()
  await page.getByRole('link', { name: 'Second conversation', exact: true }).click()
  await expect(page.locator('.message.user .body')).toHaveText('Second conversation')
  await drawer.click()
  await page.getByRole('button', { name: 'Delete Second conversation', exact: true }).click()
  await expect(page.getByRole('link', { name: 'Second conversation', exact: true })).toHaveCount(0)
  await page.reload()
  await drawer.click()
  await expect(page.locator('conversation-drawer li')).toHaveCount(1)
})

test('a chat longer than the context continues without its oldest turns', async ({ page }) => {
  test.slow()
  await openChat(page)
  await set(page, { 'Longest answer': '100' })
  const words = 'went down to the river and looked at the water for a long time, and '
  for (let turn = 0; turn < 9; turn++) {
    await ask(page, `Tell me a story about a fox who ${words.repeat(3)}slept ${turn} hours.`)
    await expect(page.getByRole('alert')).toHaveCount(0)
  }
  await expect(bodies(page)).toHaveCount(18)
  const [used, length] =
    (await page.locator('[data-stat=context]').innerText()).match(/\d+/g)?.map(Number) ?? []
  expect(used).toBeLessThanOrEqual(length ?? 0)

  // A single line above a question says where the model's view begins, also after a reload.
  const line = page.getByText('The model no longer sees the messages above.')
  await expect(line).toHaveCount(1)
  const seen = () =>
    line.evaluate((element) => {
      const { DOCUMENT_POSITION_FOLLOWING } = Node
      const isBelow = (message: Element) =>
        (element.compareDocumentPosition(message) & DOCUMENT_POSITION_FOLLOWING) > 0
      return [...document.querySelectorAll('.message')].filter(isBelow).length
    })
  const count = await seen()
  expect(count).toBeGreaterThan(1)
  expect(count).toBeLessThan(18)
  expect(count % 2).toBe(0)
  await line.scrollIntoViewIfNeeded()
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/unseen.png' })
  await page.reload()
  await ready(page)
  expect(await seen()).toBe(count)
  // Editing an earlier message makes the conversation short again.
  await page.keyboard.press('Home')
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
  await page.getByRole('textbox', { name: 'Edit your message' }).fill('Hello!')
  await page.getByRole('button', { name: 'Send again' }).click()
  await ready(page)
  await expect(line).toHaveCount(0)
})

test('new engine settings take effect after reloading the model, which the page offers', async ({ page }) => {
  await openChat(page)
  await set(page, { Threads: '2', 'Context length': '256' })
  await page.getByRole('button', { name: 'Reload the model' }).click()
  await ready(page)
  await expect(page.locator('.stats')).toContainText('2 threads')
  await set(page, { 'Longest answer': '8' })
  await ask(page, 'Hello!')
  await expect(page.locator('[data-stat=context]')).toContainText('/256')
  await expect(page.getByRole('button', { name: 'Reload the model' })).toHaveCount(0)
})

test('a setting outside its bounds is rejected, and the dialog states the bounds', async ({ page }) => {
  await openChat(page)
  await page.getByRole('button', { name: 'Settings', exact: true }).click()
  const temperature = page.getByLabel('Temperature', { exact: true })
  const sampling = page.getByText('How words are chosen')
  await sampling.click()
  await temperature.fill('9')
  await sampling.click()
  await expect(temperature).toBeHidden()
  await page.getByRole('button', { name: 'Done' }).click()
  await expect(page.getByText('From 0 to 2, or empty.')).toBeVisible()
  await expect(temperature).toBeFocused()
  await temperature.fill('1.1')
  await page.getByRole('button', { name: 'Done' }).click()
  await expect(page.getByRole('dialog')).toHaveCount(0)
  await page.reload()
  await page.getByRole('button', { name: 'Settings', exact: true }).click()
  await expect(temperature).toHaveValue('1.1')
})

test('sampling can be set by keyboard, changes the answer, and can be reset to its defaults', async ({
  page,
}) => {
  await openChat(page)
  const reply = answers(page).last().locator('.body')
  const regenerate = () => page.getByRole('button', { name: 'Regenerate' }).click()
  await set(page, { Seed: '3', 'Longest answer': '40' })
  await ask(page, STORY)
  const first = await reply.innerText()
  await openSettings(page)
  await unfoldSettings(page)
  const names = ['Temperature', 'Top k', 'Top p', 'Min p', 'Repeat penalty', 'Longest answer', 'Seed']
  const field = (name: string) => page.getByLabel(name, { exact: true })
  await field('Temperature').focus()
  for (const [name, value] of Object.entries({
    Temperature: '2',
    'Top k': '0',
    'Top p': '1',
    'Min p': '0',
  })) {
    await expect(field(name)).toBeFocused()
    await page.keyboard.press('Control+A')
    await page.keyboard.type(value)
    await page.keyboard.press('Tab')
  }
  await page.getByRole('button', { name: 'Done' }).press('Enter')
  await regenerate()
  await expect(reply).not.toHaveText(first, { useInnerText: true })
  await ready(page)
  await openSettings(page)
  await page.getByRole('button', { name: 'Reset all' }).press('Enter')
  const values = await Promise.all(names.map((name) => field(name).inputValue()))
  expect(values).toEqual(['0.5', '40', '0.9', '0', '1', '512', ''])
  await page.keyboard.press('Escape')
  await set(page, { Seed: '3', 'Longest answer': '40' })
  await regenerate()
  await expect(reply).toHaveText(first, { useInnerText: true })
})

test('nothing on the page is wider than the phone', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '40' })
  await ask(page, `Look at ${'averylongword'.repeat(20)}`)
  expect(await overflowing(page)).toEqual([])
  await page.getByRole('button', { name: 'Settings', exact: true }).click()
  expect(await overflowing(page)).toEqual([])
})
