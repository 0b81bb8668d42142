// Full storage. In: the chat page on a device with full storage. Out: whether it says so at once, keeps the
// text, and stores it once there is space.
import { expect, type Page, test } from '@playwright/test'
import { allow, fill, small } from '../../full-device.ts'
import { violations } from '../../violations.ts'
import { ask, openChat, ready, set } from '../chat-page.ts'
import { storeChats, storedTitles, turns } from './stored-chats.ts'

const notice = (page: Page) => page.locator('.unsaved')
const press = (page: Page, name: string) => notice(page).getByRole('button', { name }).click()

/** Opens a chat of one short turn on a full device. */
async function openFull(page: Page, address: string | undefined): Promise<void> {
  await small(page, address)
  await openChat(page)
  await storeChats(page, [{ id: 'owls', title: 'Owls', updated: 5, messages: turns(4) }])
  await page.reload()
  await ready(page)
  await page.getByRole('button', { name: 'Start a new chat' }).click()
  await set(page, { 'Longest answer': '10' })
  await fill(page)
  await ask(page, 'Hello!')
}

test.use({ viewport: { width: 390, height: 844 } })

test('a full device is reported at once, and the chat is stored once there is space', async ({
  page,
  baseURL,
}) => {
  await openFull(page, baseURL)
  await expect(notice(page)).toHaveRole('status')
  await expect(notice(page)).toContainText('storage is full, so your newest messages are not saved')
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/storage-full.png' })

  await ask(page, 'How are you?')
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await page.getByRole('link', { name: 'Owls' }).click()
  await expect(page.locator('.message')).toHaveCount(4)
  await page.goBack()
  await expect(page.locator('.message.user .body')).toHaveText(['Hello!', 'How are you?'])

  await press(page, 'Try again')
  await expect(notice(page)).toContainText('storage is full')
  expect(await storedTitles(page)).toEqual(['Owls'])
  await allow(page)
  await press(page, 'Try again')
  await expect(notice(page)).toHaveText('Your newest messages are saved.')
  await page.reload()
  await ready(page)
  await expect(page.locator('.message.user .body')).toHaveText(['Hello!', 'How are you?'])
  await expect(page.locator('.message')).toHaveCount(4)
})

test('a chat that could not be stored is stored automatically once there is space', async ({
  page,
  baseURL,
}) => {
  await openFull(page, baseURL)
  await expect(notice(page)).toContainText('storage is full')
  await allow(page)
  await expect(notice(page)).toHaveText('Your newest messages are saved.')
  expect((await storedTitles(page)).sort()).toEqual(['Hello!', 'Owls'])
})

test('the notice links to the list of stored items with sizes, and saves the chat to a file', async ({
  page,
  baseURL,
}) => {
  await openFull(page, baseURL)
  const [file] = await Promise.all([page.waitForEvent('download'), press(page, 'Save to a file')])
  expect(file.suggestedFilename()).toBe('Hello.json')
  await press(page, 'Free space')
  const dialog = page.getByRole('dialog', { name: 'Storage' })
  const stored = dialog.getByRole('list', { name: 'Conversations' }).getByRole('listitem')
  await expect(stored).toHaveCount(2)
  await expect(stored.filter({ hasText: 'Owls' })).toContainText(/\d kB/)
  await expect(dialog.locator('dialog.filling')).toHaveCount(0)
  expect(await violations(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/storage-full-dialog.png' })
  await dialog.getByRole('button', { name: 'Delete Owls' }).click()
  await expect(stored).toHaveText([/Hello!/])
  await expect(dialog.locator(':focus')).toHaveCount(1)
  await allow(page)
  await dialog.getByRole('button', { name: 'Close storage' }).click()
  await expect(notice(page)).toHaveText('Your newest messages are saved.')
  expect(await storedTitles(page)).toEqual(['Hello!'])
})

test('a page with unstored chats asks before it is closed', async ({ page, baseURL }) => {
  await openFull(page, baseURL)
  const asked = page.waitForEvent('dialog')
  const left = page.reload()
  const dialog = await asked
  expect(dialog.type()).toBe('beforeunload')
  await dialog.accept()
  await left
  await ready(page)
  await expect(page.getByText('Hello!')).toHaveCount(0)
})
