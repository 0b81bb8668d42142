// Stored state. In: the built chat page and its storage. Out: whether a reopened conversation continues
// without processing its messages again.
import { expect, test } from '@playwright/test'
import { ask, kept, keptStamp, openChat, readTokens, ready, set } from '../chat-page.ts'

const STORY = 'Tell me a story about a fox.'
const SHORT = { Seed: '11', 'Longest answer': '40' }

test('a conversation continues after a reload, and only new tokens are processed', async ({ page }) => {
  await openChat(page)
  await set(page, SHORT)
  await ask(page, STORY)
  await expect.poll(() => kept(page)).toBe(1)
  const first = await keptStamp(page)
  await ask(page, 'And then?')
  await expect.poll(() => keptStamp(page), 'the second turn is stored').not.toBe(first)
  await page.reload()
  await ready(page)
  await ask(page, 'Go on.')
  const [read, all] = await readTokens(page)
  expect(all).toBeGreaterThan(80)
  expect(read).toBeLessThan(30)
})

test('each conversation keeps its own state, changed instructions recompute it, and deleting a conversation deletes it', async ({
  page,
}) => {
  await openChat(page)
  await set(page, SHORT)
  await ask(page, STORY)
  await page.getByRole('button', { name: 'Start a new chat' }).click()
  await expect(page.locator('.message')).toHaveCount(0)
  await ask(page, 'Hello!')
  // The first state was stored when the second conversation began.
  await expect.poll(() => kept(page)).toBe(2)
  await page.reload()
  await ready(page)
  await set(page, { 'Instructions for the model': 'Be brief.' })
  await ask(page, 'How are you?')
  const [read, all] = await readTokens(page)
  expect(read).toBe(all)
  await expect.poll(() => kept(page)).toBe(3)
  await page.getByRole('button', { name: 'Conversations' }).click()
  await page.getByRole('button', { name: /^Delete.*Hello!/ }).click()
  await expect.poll(() => kept(page)).toBe(1)
})

test('if the browser denies storage, the list says how long conversations last', async ({ page }) => {
  await page.addInitScript(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException('refused', 'SecurityError')
    }
  })
  await openChat(page)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  const drawer = page.getByRole('dialog', { name: 'Conversations' })
  await expect(drawer).toContainText('This browser stores nothing for this page.')
  await expect(drawer).not.toContainText('kept here')
})
