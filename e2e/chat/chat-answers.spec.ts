// Answers. In: the built chat page with truncated answers, code and formulas, and thoughts. Out: whether
// answers can be continued, even after a reload; whether code and formulas are shown without active content;
// and whether thoughts are collapsed, stay as the user left them, and are not part of the next turn.
import { expect, type Page, test } from '@playwright/test'
import type { ModelFile } from '../model-folder.ts'
import { ANSWER, scriptedModel, THOUGHT, thinkingModel } from '../scripted-model.ts'
import { violations } from '../violations.ts'
import {
  answers,
  ask,
  kept,
  openChat,
  openModels,
  overflowing,
  readTokens,
  ready,
  say,
  set,
} from './chat-page.ts'
import { storeChats, turns } from './stored/stored-chats.ts'

test('an answer that reached its limit can be continued, even after a reload', async ({ page }) => {
  const { problems } = await openChat(page)
  await set(page, { 'Longest answer': '6', Temperature: '0' })
  await ask(page, 'Tell me a story about a fox.')
  const body = answers(page).locator('.body')
  const goOn = page.getByRole('button', { name: 'Continue', exact: true })
  await expect(answers(page)).toContainText('Reached the length limit')
  const first = await body.innerText()
  expect(await overflowing(page)).toEqual([])
  await goOn.click()
  await ready(page)
  const second = await body.innerText()
  expect(second.startsWith(first), `"${second}" begins with "${first}"`).toBe(true)
  expect(second.length).toBeGreaterThan(first.length)
  // Only the last token of the first part, which has not been processed yet, is processed now.
  expect((await readTokens(page))[0]).toBe(1)

  await expect.poll(() => kept(page)).toBe(1)
  await page.waitForTimeout(2000)
  await page.reload()
  await ready(page)
  await set(page, { 'Longest answer': '600' })
  await goOn.click()
  await ready(page)
  const third = await body.innerText()
  expect(third.startsWith(second)).toBe(true)
  expect((await readTokens(page))[0]).toBe(1)
  await expect(answers(page)).toHaveCount(1)
  await expect(goOn).toHaveCount(0)
  expect(problems).toEqual([])
})

const RICH = [
  'A function:\n\n```js\n// <b>twice</b>\nconst twice = (x) => "<i>" + x\n```\n\nAnother:\n\n```nolanguage\nplain <i>\n```\n',
  'Of $a^2 + b^2$ and \\(\\alpha\\):\n\n$$\nx = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}\n+ \\sum_{i=0}^n \\int_0^1 f_i(t)\\,dt + \\prod_k \\lambda_k\n$$\n',
  'Bad: $\\href{javascript:alert(1)}{x}$, $\\frac{$, $\\def\\a{\\a\\a}\\a$. It costs $5 and $6.',
].join('\n')

test('code is highlighted and formulas are typeset, by libraries that load on first use', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  const messages = [
    { role: 'user', content: 'Show me.' },
    { role: 'assistant', content: RICH },
  ]
  await storeChats(page, [
    { id: 'plain', updated: Date.now(), messages: turns(2) },
    { id: 'rich', updated: Date.now() - 1000, messages },
  ])
  const loaded: string[] = []
  page.on('request', (request) => loaded.push(request.url()))
  await page.reload()
  await ready(page)
  const libraries = () => loaded.filter((url) => /(highlight|formulas)-[^/]*\.js$/.test(url)).length
  expect(libraries(), 'libraries for plain text').toBe(0)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await page.getByRole('link', { name: 'rich', exact: true }).click()
  const answer = answers(page)
  await expect(answer.locator('.hljs-keyword').first()).toHaveText('const')
  await expect(answer.locator('pre').first()).toContainText('<b>twice</b>')
  await expect(answer.locator('pre').nth(1)).toHaveText('plain <i>')
  await expect(answer.locator('math')).toHaveCount(3)
  await expect(answer.locator('.formula math mfrac msqrt')).toHaveCount(1)
  await expect(answer.locator('a, script, [href]')).toHaveCount(0)
  await expect(answer).toContainText('\\href{javascript:alert(1)}{x}')
  await expect(answer).toContainText('It costs $5 and $6.')
  expect(libraries()).toBe(2)
  expect(await overflowing(page)).toEqual([])
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await violations(page)).toEqual([])
    await page.screenshot({ path: `build/screens/rich-${colorScheme}.png` })
  }
  expect(problems).toEqual([])
})

/** States of the newest answer while it grew. */
interface Sight {
  readonly summary: string
  readonly isOpen: boolean
  readonly hasAnswer: boolean
}

/**
 * Watches from inside the page, so that no change is missed. `opens`: expands the thought once it appears.
 */
async function watchThoughts(page: Page, opens: boolean): Promise<() => Promise<readonly Sight[]>> {
  await page.evaluate((mayOpen) => {
    const sights: Sight[] = []
    let isNew = mayOpen
    new MutationObserver(() => {
      const message = [...document.querySelectorAll('.message.assistant')].at(-1)
      const details = message?.querySelector<HTMLDetailsElement>('.message.growing .thoughts')
      if (details == null) return
      const summary = details.querySelector('summary')!
      const text = [...message!.querySelectorAll('.part')].map((part) => part.textContent).join('')
      sights.push({ summary: summary.innerText, isOpen: details.open, hasAnswer: text.trim() !== '' })
      if (isNew) summary.click()
      isNew = false
    }).observe(document.body, { subtree: true, childList: true, characterData: true })
    Object.assign(globalThis, { sights })
  }, opens)
  return () => page.evaluate(() => (globalThis as unknown as { sights: Sight[] }).sights)
}

async function chooseFiles(page: Page, files: readonly ModelFile[]): Promise<void> {
  await openModels(page)
  await page
    .getByLabel('Choose files')
    .setInputFiles(files.map((file) => ({ ...file, mimeType: 'application/octet-stream' })))
  await expect(page.locator('.bar .model')).toContainText('model.safetensors')
  await ready(page)
}

test('a thought is collapsed while it streams, can be opened, and is not read in the next turn', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await chooseFiles(page, thinkingModel())
  await set(page, { 'Longest answer': '600' })

  const seen = await watchThoughts(page, false)
  await ask(page, 'How wide is it?')
  const sights = await seen()
  expect(sights.length).toBeGreaterThan(1)
  expect(sights.filter(({ isOpen }) => isOpen)).toEqual([])
  expect(sights[0]).toEqual({ summary: 'Thinking …', isOpen: false, hasAnswer: false })
  expect(sights.filter(({ summary, hasAnswer }) => hasAnswer && summary === 'Thinking …')).toEqual([])

  const answer = answers(page).last()
  const thoughts = answer.locator('.thoughts')
  const text = thoughts.locator('div')
  await expect(thoughts.locator('summary')).toHaveText('Thoughts')
  await expect(text).toBeHidden()
  await expect(answer.locator('.part')).toHaveText(ANSWER.join('').trim())
  await thoughts.locator('summary').click()
  await expect(text).toBeVisible()
  expect((await text.innerText()).trim()).toBe(THOUGHT.join('').trim())
  await thoughts.locator('summary').click()
  await expect(text).toBeHidden()

  const [, before] = await readTokens(page)
  const unfolded = await watchThoughts(page, true)
  await ask(page, 'And deep?')
  // Once open, it stays open while the answer continues.
  const after = (await unfolded()).slice(1)
  expect(after.filter(({ isOpen }) => !isOpen)).toEqual([])
  await expect(answers(page).last().locator('.thoughts div')).toBeVisible()
  const [, all] = await readTokens(page)
  // The thought has more tokens than answer and question have bytes, and each token has at least one byte.
  expect(all - before).toBeGreaterThan('And deep?'.length)
  expect(all - before).toBeLessThan(ANSWER.join('').length + 'And deep?'.length + 10)
  expect(THOUGHT.length).toBeGreaterThan(ANSWER.join('').length + 'And deep?'.length + 10)

  await page.reload()
  await ready(page)
  await expect(answers(page).first().locator('.thoughts summary')).toHaveText('Thoughts')
  await expect(answers(page).first().locator('.thoughts div')).toBeHidden()
  expect(problems).toEqual([])
})

test('a thought cut at the length limit stays, even after a reload, and can be regenerated', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  await chooseFiles(page, thinkingModel())
  await set(page, { 'Longest answer': '50' })
  await ask(page, 'How wide is it?')
  const answer = answers(page).last()
  await expect(answer).toContainText('Reached the length limit')
  await expect(answer.locator('.thoughts summary')).toHaveText('Thoughts')
  await expect(page.getByRole('button', { name: 'Continue', exact: true })).toHaveCount(0)

  await page.reload()
  await ready(page)
  await expect(answer.locator('.thoughts summary')).toHaveText('Thoughts')
  await expect(answer).toContainText('Reached the length limit')
  await set(page, { 'Longest answer': '600' })
  await chooseFiles(page, thinkingModel())
  await page.getByRole('button', { name: 'Regenerate', exact: true }).click()
  await ready(page)
  await expect(answer.locator('.part')).toHaveText(ANSWER.join('').trim())
  expect(problems).toEqual([])
})

test('an answer with only markup, cut at the length limit, is reported and cannot be continued', async ({
  page,
}) => {
  const { problems } = await openChat(page)
  const call = ['<tool_call>', ...Array.from({ length: 30 }, (_, at) => ` word${at}`)]
  await chooseFiles(page, scriptedModel([], call))
  await set(page, { 'Longest answer': '6' })
  await ask(page, 'How wide is it?')
  const answer = answers(page).last()
  await expect(answer).toContainText('The model gave no answer.')
  await expect(answer).not.toContainText('Reached the length limit')
  await expect(page.getByRole('button', { name: 'Continue', exact: true })).toHaveCount(0)
  expect(problems).toEqual([])
})

test('a message that does not fit the context is rejected with a message, and the next one is answered', async ({
  page,
}) => {
  await openChat(page)
  // The embedded model declines long texts before they are counted.
  await chooseFiles(page, scriptedModel([], ANSWER))
  await set(page, { 'Longest answer': '10' })
  const text = 'Tell me more about it. '.repeat(300).trim()
  await say(page, text)
  const notice = page.getByRole('alert')
  await expect(notice).toContainText(`yours has ${text.length}`)
  const most = Number(/about ([\d,]+) characters/.exec(await notice.innerText())?.[1]?.replaceAll(',', ''))
  expect(most).toBeGreaterThan(500)
  await page.screenshot({ path: 'build/screens/long-message.png' })
  await page.getByRole('button', { name: 'Choose a larger model' }).click()
  await expect(page.getByRole('dialog', { name: 'Choose a model' })).toBeVisible()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'OK', exact: true }).click()
  await expect(notice).toHaveCount(0)
  // The model reads exactly as many tokens as the message said.
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByRole('textbox', { name: 'Edit your message' }).fill(text.slice(0, most))
  await page.getByRole('button', { name: 'Send again' }).click()
  await ready(page)
  await expect(notice).toHaveCount(0)
  await expect(answers(page).locator('.body')).not.toBeEmpty()
})
