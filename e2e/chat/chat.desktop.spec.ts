// In: the built chat page on a desktop. Out: whether the conversation list is beside the chat and everything
// fits.
import { expect, test } from '@playwright/test'
import { ask, bodies, composer, openChat, overflowing, set } from './chat-page.ts'

test('conversations stand beside the chat', async ({ page }) => {
  await openChat(page)
  await set(page, { 'Longest answer': '10' })
  const side = page.getByRole('navigation', { name: 'Conversations' })
  await ask(page, 'First conversation')
  await side.getByRole('button', { name: 'New chat' }).click()
  await expect(composer(page)).toBeFocused()
  await ask(page, 'Second conversation')
  await expect(side.getByRole('listitem')).toHaveText([/Second conversation/, /First conversation/])
  await side.getByRole('button', { name: 'First conversation', exact: true }).click()
  await expect(page.locator('.message.user .body')).toHaveText('First conversation')
  await side.getByRole('button', { name: 'Delete First conversation', exact: true }).click()
  await side.getByRole('button', { name: 'Delete First conversation for good' }).click()
  await expect(side.getByRole('listitem')).toHaveCount(1)
  await expect(bodies(page)).toHaveCount(0)
  expect(await overflowing(page)).toEqual([])
})

test('a window made narrow puts them into a drawer', async ({ page }) => {
  await openChat(page)
  await page.setViewportSize({ width: 700, height: 800 })
  await expect(page.getByRole('navigation', { name: 'Conversations' })).toHaveCount(0)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await expect(page.getByRole('dialog', { name: 'Conversations' })).toBeVisible()
  expect(await overflowing(page)).toEqual([])
})
