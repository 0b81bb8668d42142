// The conversation list. In: the built chat page with stored conversations. Out: whether users can search,
// rename, export and import them.
import { readFile } from 'node:fs/promises'
import { expect, type Page, test } from '@playwright/test'
import { violations } from '../violations.ts'
import { ask, conversationsStored, openChat, overflowing, ready } from './chat-page.ts'
import { storeChats, storedTitles, turns } from './stored/stored-chats.ts'

const DAY_MS = 864e5

/**
 * Opens the drawer of a page with six conversations: one from today, and each of the others older than the
 * one before.
 */
async function openList(page: Page) {
  await openChat(page)
  const titles = ['Rivers', 'Moons', 'Foxes', 'Bears', 'Owls', 'Bees']
  const chats = titles.map((id, place) => ({ id, updated: Date.now() - place * DAY_MS, messages: turns(2) }))
  await storeChats(page, chats)
  await page.reload()
  await ready(page)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  const drawer = page.getByRole('dialog', { name: 'Conversations' })
  await expect(drawer).toBeVisible()
  return drawer
}

test('conversations are grouped by date and can be searched', async ({ page }) => {
  const drawer = await openList(page)
  await expect(drawer.getByRole('list', { name: 'Today' })).toContainText('Rivers')
  await expect(drawer.getByRole('list', { name: 'Yesterday' })).toContainText('Moons')
  await expect(drawer.getByRole('list', { name: 'Previous 7 days' }).getByRole('listitem')).toHaveCount(4)
  const search = drawer.getByRole('searchbox', { name: 'Search conversations' })
  await search.fill('bees RIVER')
  await expect(drawer.getByRole('listitem')).toHaveText([/Bees/])
  await expect(drawer.getByRole('status').first()).toHaveText('1 of 6 conversations')
  await expect(drawer.locator('.passage')).toHaveText('Question 0 about the river and the moon')
  await expect(drawer.locator('.passage mark')).toHaveText('river')
  await page.screenshot({ path: 'build/screens/search.png' })
  expect(await overflowing(page)).toEqual([])
  await page.keyboard.press('Escape')
  await expect(drawer.getByRole('listitem')).toHaveCount(6)
})

test('a new title survives a reload', async ({ page }) => {
  const drawer = await openList(page)
  await drawer.getByRole('button', { name: 'More for Moons' }).click()
  await drawer.getByRole('button', { name: 'Rename Moons' }).click()
  await drawer.getByRole('textbox', { name: 'Title' }).fill('The moon')
  await page.keyboard.press('Enter')
  await expect(drawer.getByRole('button', { name: 'More for The moon' })).toBeFocused()
  await expect(drawer.getByRole('list', { name: 'Yesterday' }), 'a title is not a turn').toContainText(
    'The moon',
  )
  expect(await overflowing(page)).toEqual([])
  await expect.poll(() => storedTitles(page)).toContain('The moon')
  await page.reload()
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await expect(drawer.getByRole('link', { name: 'The moon', exact: true })).toBeVisible()
})

test('a pinned conversation comes first, even after a reload', async ({ page }) => {
  const drawer = await openList(page)
  await drawer.getByRole('button', { name: 'More for Bees' }).click()
  await drawer.getByRole('button', { name: 'Pin Bees' }).click()
  await expect(drawer.getByRole('button', { name: 'More for Bees' })).toBeFocused()
  await expect(drawer.getByRole('listitem').first()).toHaveText(/Bees/)
  await expect(drawer.getByRole('list', { name: 'Pinned' }).getByRole('listitem')).toHaveCount(1)
  await conversationsStored(page)
  await page.reload()
  await ready(page)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await expect(drawer.getByRole('list', { name: 'Pinned' })).toContainText('Bees')
  await drawer.getByRole('button', { name: 'More for Bees' }).click()
  await drawer.getByRole('button', { name: 'Pin Bees', pressed: true }).click()
  await expect(drawer.getByRole('listitem').last()).toHaveText(/Bees/)
})

test('several conversations can be deleted at once, and each can be restored', async ({ page }) => {
  const drawer = await openList(page)
  await drawer.getByRole('button', { name: 'Select' }).click()
  await expect(drawer.getByRole('checkbox', { name: 'Rivers' })).toBeFocused()
  await expect(drawer.getByRole('button', { name: 'Delete 0' })).toBeDisabled()
  await page.keyboard.press('Escape')
  await expect(drawer.getByRole('button', { name: 'Select' })).toBeFocused()
  await page.keyboard.press('Enter')
  for (const name of ['Moons', 'Owls', 'Bees', 'Owls']) await drawer.getByRole('checkbox', { name }).click()
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/select.png' })
  await drawer.getByRole('button', { name: 'Delete 2' }).click()
  await expect(drawer.getByRole('button', { name: 'Undo: restore Moons' })).toBeFocused()
  await drawer.getByRole('button', { name: 'Undo: restore Bees' }).click()
  await expect(drawer.getByRole('link', { name: 'Bees', exact: true })).toBeVisible()
  expect(await overflowing(page)).toEqual([])
  await conversationsStored(page)
  await page.reload()
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await expect(drawer.getByRole('listitem')).toHaveText([/Rivers/, /Foxes/, /Bears/, /Owls/, /Bees/])
})

test('each conversation has a URL, for reloads, Back and other tabs', async ({ page, context }) => {
  const drawer = await openList(page)
  await drawer.getByRole('link', { name: 'Owls', exact: true }).click()
  await expect(drawer).toBeHidden()
  await expect(page).toHaveURL(/#Owls$/)
  await page.reload()
  await ready(page)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  const owls = drawer.getByRole('link', { name: 'Owls', exact: true })
  await expect(owls).toHaveAttribute('aria-current', 'true')
  await drawer.getByRole('button', { name: 'New chat' }).click()
  await expect(page.locator('.message')).toHaveCount(0)
  expect(new URL(page.url()).hash).toBe('')
  await ask(page, 'Hello!')
  await expect(page).toHaveURL(/#[0-9a-f]{32}$/)
  await page.goBack()
  await expect(page).toHaveURL(/#Owls$/)
  await expect(page.locator('.message')).toHaveCount(2)
  await page.goForward()
  await expect(page.locator('.message').first()).toContainText('Hello!')

  const [other] = await Promise.all([context.waitForEvent('page'), page.evaluate(() => void open('#Foxes'))])
  await ready(other)
  await expect(other).toHaveURL(/#Foxes$/)
  await other.evaluate(() => location.assign('#nowhere'))
  await expect(other).toHaveURL(/#Foxes$/)
})

test('exported conversations can be imported after they were deleted', async ({ page }) => {
  const drawer = await openList(page)
  await drawer.getByRole('button', { name: 'More for Moons' }).click()
  const [markdown] = await Promise.all([
    page.waitForEvent('download'),
    drawer.getByRole('button', { name: 'Export as Markdown: Moons' }).click(),
  ])
  expect(markdown.suggestedFilename()).toBe('Moons.md')
  expect(await readFile(await markdown.path(), 'utf8')).toMatch(/^# Moons\n\n## You\n\nQuestion 0 /)
  const [json] = await Promise.all([
    page.waitForEvent('download'),
    drawer.getByRole('button', { name: 'Export as JSON: Moons' }).click(),
  ])
  await drawer.getByRole('button', { name: 'Delete Moons' }).click()
  await drawer.getByRole('button', { name: 'Delete Owls' }).click()
  await expect(drawer.getByRole('link', { name: 'Moons', exact: true })).toHaveCount(0)
  const input = drawer.getByLabel('Import conversations')
  const buffer = Buffer.from(await readFile(await json.path()))
  await input.setInputFiles({ name: 'Moons.json', mimeType: 'application/json', buffer })
  await expect(drawer.getByText('Imported 1 conversation.')).toBeVisible()
  await input.setInputFiles({ name: 'Moons.json', mimeType: 'application/json', buffer })
  await expect(drawer.getByRole('link', { name: 'Moons', exact: true })).toHaveCount(1)
  await drawer.getByRole('link', { name: 'Moons', exact: true }).click()
  await expect(page.locator('.message.user .body')).toHaveText(/Question 0/)
})

test('a file without conversations is rejected with a message', async ({ page }) => {
  const drawer = await openList(page)
  const input = drawer.getByLabel('Import conversations')
  await input.setInputFiles({ name: 'a.json', mimeType: 'application/json', buffer: Buffer.from('{}') })
  await expect(drawer.getByRole('alert')).toHaveText(/contains no conversations/)
  await expect(drawer.getByRole('listitem')).toHaveCount(6)
})

test('if the browser has a share sheet, it gets the conversation as text', async ({ page }) => {
  await page.addInitScript(() => {
    Object.assign(navigator, {
      share: (data: ShareData) => {
        Object.assign(globalThis, { shared: data })
        return Promise.resolve()
      },
    })
  })
  const drawer = await openList(page)
  await drawer.getByRole('button', { name: 'More for Moons' }).click()
  await drawer.getByRole('button', { name: 'Share Moons' }).click()
  const shared = () => page.evaluate(() => (globalThis as unknown as { shared?: ShareData }).shared)
  await expect.poll(async () => (await shared())?.text).toContain('## You\n\nQuestion 0')
})
