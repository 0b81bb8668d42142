// Accessibility. In: the chat page in both themes. Out: whether axe finds no problem, and whether keyboard
// and screen reader are enough to use the page.
import { expect, type Page, test } from '@playwright/test'
import { violations } from '../violations.ts'
import { ask, composer, openChat, openModels, openSettings, ready, set, unfoldSettings } from './chat-page.ts'

const MARKDOWN = [
  '<think>\nWhat is everything?\n</think>\n\n# Title\n\nSome **bold** text with `code` and a [link](https://example.com).\n',
  '1. one\n2. two\n\n> quoted\n\n```js\nconst answer = 42\n```\n',
  '| a | b |\n|---|--:|\n| 1 | 2 |\n\n- [x] done\n- [ ] not yet\n\n---\n\nSee https://example.com.',
].join('\n')

/** Stores a conversation with every Markdown element, as if a model had written it. */
async function seed(page: Page): Promise<void> {
  await page.evaluate(async (content) => {
    const open = indexedDB.open('halfbyte-chat')
    await new Promise((resolve, reject) => {
      open.onsuccess = resolve
      open.onerror = reject
    })
    const messages = [
      { role: 'user', content: 'Show me everything.' },
      { role: 'assistant', content, ending: 'cancelled' },
    ]
    const change = open.result.transaction('conversations', 'readwrite')
    change
      .objectStore('conversations')
      .put({ id: 'seed', title: 'Everything', updated: Date.now(), messages })
    await new Promise((resolve) => {
      change.oncomplete = resolve
    })
    open.result.close()
  }, MARKDOWN)
  await page.reload()
  await ready(page)
  await expect(page.locator('.message')).toHaveCount(2)
}

async function expectNoViolations(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await violations(page), colorScheme).toEqual([])
  }
}

test('axe finds nothing wrong with the empty page and a conversation', async ({ page }) => {
  await openChat(page)
  await expectNoViolations(page)
  await seed(page)
  await page.getByText('Thoughts').click()
  await expect(page.getByText('What is everything?')).toBeVisible()
  await expect(page.getByRole('checkbox', { name: 'Done' })).toBeChecked()
  await expect(page.getByRole('checkbox', { name: 'To do' })).not.toBeChecked()
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await expectNoViolations(page)
})

test('axe finds nothing wrong with the dialogs', async ({ page }) => {
  await openChat(page)
  await seed(page)
  await page.evaluate(() => localStorage.setItem('halfbyte-models', '["https://models.example/a.gguf"]'))
  await openModels(page)
  await expectNoViolations(page)
  await page.keyboard.press('Escape')
  await openSettings(page)
  await expectNoViolations(page)
  await unfoldSettings(page)
  await page.getByLabel('Temperature').fill('9')
  await page.getByLabel('Threads').fill('1')
  await page.getByLabel('Threads').blur()
  await expectNoViolations(page)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await page.getByRole('button', { name: 'More for Everything' }).click()
  await expectNoViolations(page)
  await page.getByRole('button', { name: 'Rename Everything' }).click()
  await expectNoViolations(page)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Delete Everything' }).click()
  await expectNoViolations(page)
})

test('axe finds nothing wrong with an error and an empty slot', async ({ page }) => {
  await openChat(page)
  await openModels(page)
  await page.getByLabel('Choose files').setInputFiles({
    name: 'not.gguf',
    mimeType: 'application/octet-stream',
    buffer: Buffer.alloc(64, 1),
  })
  await expect(page.getByRole('alert')).toBeVisible()
  await expectNoViolations(page)
})

test('the page can be used with the keyboard alone', async ({ page }) => {
  await openChat(page)
  await composer(page).focus()
  await page.keyboard.type('Hello!')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('How are you?')
  await page.keyboard.press('Control+Enter')
  await ready(page)
  await expect(page.locator('.message.user .body')).toHaveText('Hello!\nHow are you?', { useInnerText: true })
  await expect(composer(page)).toBeFocused()

  await page.getByRole('button', { name: 'Edit', exact: true }).focus()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('textbox', { name: 'Edit your message' })).toBeFocused()
  await page.keyboard.press('Escape')
  await expect(page.getByRole('button', { name: 'Edit', exact: true })).toBeFocused()
})

test('dialogs take the focus, keep it, and give it back', async ({ page }) => {
  await openChat(page)
  for (const [button, title] of [
    ['Settings', 'Settings'],
    ['Conversations', 'Conversations'],
  ] as const) {
    const opener = page.getByRole('button', { name: button, exact: true })
    await opener.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: title })
    await expect(dialog).toBeVisible()
    await expect(dialog.locator(':focus')).toHaveCount(1)
    await page.keyboard.press('Escape')
    await expect(dialog).toBeHidden()
    await expect(opener).toBeFocused()
  }
})

test('Escape closes the editor of a title and leaves the drawer open', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '5' })
  await ask(page, 'Hello!')
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await page.getByRole('button', { name: 'More for Hello!' }).click()
  await expect(page.getByRole('button', { name: 'Rename Hello!' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('textbox', { name: 'Title' })).toBeFocused()
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog', { name: 'Conversations' })).toBeVisible()
  await expect(page.getByRole('button', { name: 'More for Hello!' })).toBeFocused()
})

test('a screen reader hears that the model answers, and then the answer once', async ({ page }) => {
  await openChat(page)
  const status = page.locator('.foot > .visually-hidden[role=status]')
  await expect(status).toHaveText('The model is ready')
  await page.evaluate(() => {
    const heard: string[] = []
    Object.assign(globalThis, { heard })
    const live = document.querySelector('.foot > .visually-hidden[role=status]') as Element
    new MutationObserver(() => heard.push(live.textContent ?? '')).observe(live, {
      characterData: true,
      childList: true,
      subtree: true,
    })
  })
  await ask(page, 'Hello!')
  const answer = await page.locator('.message.assistant .body').innerText()
  await expect(status).toContainText('The model says:')
  const heard = await page.evaluate(() => (globalThis as unknown as { heard: string[] }).heard)
  expect(heard).toHaveLength(2)
  expect(heard[0]).toBe('The model is answering')
  expect(heard[1]?.replace(/\s+/g, ' ')).toContain(answer.split('\n')[0])
})

test('with forced colours, users can see who said what and which conversation is open', async ({ page }) => {
  await page.emulateMedia({ forcedColors: 'active' })
  await openChat(page)
  await ask(page, 'Hello!')
  const edge = (selector: string, property: string) =>
    page
      .locator(selector)
      .evaluate((element, name) => getComputedStyle(element).getPropertyValue(name), property)
  const ground = await edge('body', 'background-color')
  expect(await edge('.message.user .body', 'outline-style')).toBe('solid')
  expect(await edge('.message.user .body', 'outline-color')).not.toBe(ground)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  const current = page.getByRole('dialog').getByRole('link', { name: 'Hello!' })
  await expect(current).toHaveCSS('border-top-style', 'solid')
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/forced-colours.png' })
})

test('if the user prefers more contrast, muted text and lines are as dark as other text', async ({
  page,
}) => {
  await page.emulateMedia({ contrast: 'more' })
  await openChat(page)
  await ask(page, 'Hello!')
  const text = await page.locator('body').evaluate((body) => getComputedStyle(body).color)
  await expect(page.locator('.message.assistant .actions button').first()).toHaveCSS('color', text)
  await expect(page.locator('.bar')).toHaveCSS('border-bottom-color', text)
})
