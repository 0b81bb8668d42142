// In: the built chat page and its storage. Out: whether a conversation that is opened again goes on without being read again.
import { expect, type Page, test } from '@playwright/test'
import { ask, openChat, ready, set } from './chat-page.ts'

const STORY = 'Tell me a story about a fox.'
const SHORT = { Seed: '11', 'Longest answer': '40' }

/** Stored sessions of the page, as the browser has them. */
const kept = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-sessions', { create: true })
    let count = 0
    for await (const name of folder.keys()) if (name.endsWith('.json')) count++
    return count
  })

/** Tokens of the last prompt that were read for it, and all of its tokens. */
async function readTokens(page: Page): Promise<readonly [number, number]> {
  const title = (await page.locator('[data-stat=speed]').getAttribute('title')) ?? ''
  const [, read, all] = /(\d+) of (\d+) tokens read/.exec(title) ?? []
  return [Number(read), Number(all)]
}

test('a conversation goes on after a reload, and only what is new is read', async ({ page }) => {
  await openChat(page)
  await set(page, SHORT)
  await ask(page, STORY)
  await ask(page, 'And then?')
  await expect.poll(() => kept(page)).toBe(1)
  await page.reload()
  await ready(page)
  await ask(page, 'Why?')
  const [read, all] = await readTokens(page)
  expect(all).toBeGreaterThan(80)
  expect(read).toBeLessThan(30)
})

test('each conversation keeps its own, other instructions read it again, and what is removed is not kept', async ({
  page,
}) => {
  await openChat(page)
  await set(page, SHORT)
  await ask(page, STORY)
  await page.getByRole('button', { name: 'Start a new chat' }).click()
  await expect(page.locator('.message')).toHaveCount(0)
  await ask(page, 'Hello!')
  // The first was kept when the second began.
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
  await page.getByRole('button', { name: /^Delete.*Hello!.* for good/ }).click()
  await expect.poll(() => kept(page)).toBe(1)
})
