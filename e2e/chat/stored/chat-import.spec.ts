// Import. In: conversation files, intact and damaged, a full device, and a page that crashes during an
// import. Out: whether all conversations in a file are imported or none, and whether the list still works.
import { expect, type Locator, type Page, test } from '@playwright/test'
import { allow, fill, small } from '../../full-device.ts'
import { openChat, ready } from '../chat-page.ts'
import { storeChats, storedTitles, turns } from './stored-chats.ts'

const fileOf = (conversations: readonly unknown[]) => ({
  name: 'chats.json',
  mimeType: 'application/json',
  buffer: Buffer.from(JSON.stringify({ format: 'halfbyte-conversations', version: 1, conversations })),
})
const chat = (id: string, more: object = {}) => ({ id, title: id, updated: 5, messages: turns(2), ...more })
const many = (count: number) => Array.from({ length: count }, (_, index) => chat(`chat ${index}`))

/** The drawer of a page with one conversation. */
async function openDrawer(page: Page): Promise<Locator> {
  await openChat(page)
  await storeChats(page, [chat('Owls')])
  await page.reload()
  await ready(page)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  return page.getByRole('dialog', { name: 'Conversations' })
}

const choose = (drawer: Locator, conversations: readonly unknown[]) =>
  drawer.getByLabel('Import conversations').setInputFiles(fileOf(conversations))

test('an import reports how many conversations were imported, and which already existed', async ({
  page,
}) => {
  const drawer = await openDrawer(page)
  const said = drawer.locator('p.hint[role=status]').last()
  await choose(drawer, [chat('Foxes'), chat('Moons'), chat('Owls')])
  await expect(said).toHaveText('Imported 2 of 3 conversations. The others were already here.')
  await choose(drawer, [chat('Foxes')])
  await expect(said).toHaveText('Nothing was imported: these conversations are already here.')
  await choose(drawer, [
    chat('Foxes', { messages: turns(4) }),
    chat('Bears'),
    chat('Bears', { title: 'Cubs' }),
  ])
  await expect(said).toHaveText('Imported 3 conversations.')
  expect((await storedTitles(page)).sort()).toEqual(['Bears', 'Cubs', 'Foxes', 'Foxes', 'Moons', 'Owls'])
})

for (const [name, more] of Object.entries<object>({
  'an impossible time': { updated: 1e308 },
  'a negative time': { updated: -1e300 },
  'an id that cannot be part of a URL': { id: 'a\ud800' },
  'a version that is not a list': { messages: [{ role: 'user', content: 'a', others: { length: 1 } }] },
})) {
  test(`a file with ${name} is rejected entirely`, async ({ page }) => {
    const drawer = await openDrawer(page)
    await choose(drawer, [chat('Foxes'), chat('Moons', more)])
    await expect(drawer.getByRole('alert')).toContainText('1 of the 2 conversations in this file are damaged')
    expect(await storedTitles(page)).toEqual(['Owls'])
  })
}

test('an invalid date, stored by an earlier release, does not break the list', async ({ page }) => {
  const { problems } = await openChat(page)
  await storeChats(page, [chat('Owls'), chat('Moons', { updated: 1e308 })])
  await page.reload()
  await ready(page)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await expect(page.getByRole('dialog').getByRole('link')).toHaveText(['Owls', 'Moons'])
  expect(problems).toEqual([])
})

test('on a full device, an import stores nothing and says so', async ({ page, baseURL }) => {
  await small(page, baseURL)
  const drawer = await openDrawer(page)
  await fill(page)
  await choose(drawer, many(300))
  await expect(drawer.getByRole('alert')).toContainText('not enough storage for these conversations')
  await expect(drawer.getByRole('link')).toHaveCount(1)
  expect(await storedTitles(page)).toEqual(['Owls'])
  await allow(page)
  await choose(drawer, many(300))
  await expect(drawer.getByText('Imported 300 conversations.')).toBeVisible()
  expect(await storedTitles(page)).toHaveLength(301)
})

test('a page that crashes during an import has imported nothing', async ({ page, context }) => {
  await page.addInitScript(() => {
    const { put } = IDBObjectStore.prototype
    let count = 0
    IDBObjectStore.prototype.put = function (...given) {
      if (++count === 200) {
        console.log('in the middle')
        for (const end = performance.now() + 15_000; performance.now() < end; );
      }
      return put.apply(this, given)
    }
  })
  const drawer = await openDrawer(page)
  const middle = page.waitForEvent('console', (message) => message.text() === 'in the middle')
  // A debugging session could not start while the page is busy.
  const session = await context.newCDPSession(page)
  await choose(drawer, many(300))
  await middle
  const crashed = page.waitForEvent('crash')
  // The command gets no answer, because the renderer is gone.
  session.send('Page.crash').catch(() => undefined)
  await crashed
  await page.close()
  const next = await context.newPage()
  await openChat(next)
  expect(await storedTitles(next)).toEqual(['Owls'])
})
