// Tabs. In: two tabs with the built chat page. Out: whether each sees what the other writes, and no turn is
// lost.
import { type BrowserContext, expect, type Page, test } from '@playwright/test'
import { endlessModel } from '../endless-model.ts'
import { ask, bodies, openChat, openModels, ready, say, set } from './chat-page.ts'

/** Two tabs that show the same conversation of one turn. */
async function twoTabs(page: Page, context: BrowserContext): Promise<Page> {
  await openChat(page)
  await set(page, { 'Longest answer': '10' })
  await ask(page, 'One')
  const other = await context.newPage()
  await openChat(other)
  await expect(bodies(other)).toHaveCount(2)
  return other
}

const questions = (page: Page) => page.locator('.message.user .body')

test('a turn in one tab appears in the other, which continues from it', async ({ page, context }) => {
  const other = await twoTabs(page, context)
  await ask(page, 'Two')
  await expect(questions(other)).toHaveText(['One', 'Two'])
  await expect(bodies(other)).toHaveText(await bodies(page).allInnerTexts(), { useInnerText: true })
  await ask(other, 'Three')
  await expect(questions(page)).toHaveText(['One', 'Two', 'Three'])
  await page.reload()
  await expect(questions(page)).toHaveText(['One', 'Two', 'Three'])
  await expect(bodies(page)).toHaveCount(6)
})

test('tabs that answer at the same time lose neither turn', async ({ page, context }) => {
  const other = await twoTabs(page, context)
  await set(page, { 'Longest answer': '400' })
  await openModels(page)
  await page
    .getByLabel('Choose files')
    .setInputFiles(endlessModel().map((file) => ({ ...file, mimeType: 'application/octet-stream' })))
  await expect(page.locator('.bar .model')).toContainText('model.safetensors')
  await ready(page)
  await say(page, 'Two')
  await say(other, 'Three')
  await expect(questions(other)).toHaveText(['One', 'Two', 'Three'])
  await ready(page)
  await ready(other)
  for (const tab of [page, other]) {
    await tab.reload()
    // The page renders only nearby messages, and long answers move earlier turns out of range.
    await expect(async () => {
      await tab.locator('.log').evaluate((log) => log.scrollTo(0, 0))
      await expect(questions(tab)).toHaveText(['One', 'Two', 'Three'], { timeout: 1000 })
    }).toPass()
    await expect(bodies(tab)).toHaveCount(6)
  }
})

test('a conversation deleted in one tab disappears in the other, and does not come back', async ({
  page,
  context,
}) => {
  const other = await twoTabs(page, context)
  await page.getByRole('button', { name: 'Conversations', exact: true }).click()
  await page.getByRole('button', { name: 'Delete One', exact: true }).click()
  await expect(bodies(other)).toHaveCount(0)
  await ask(other, 'Two')
  await other.reload()
  await expect(questions(other)).toHaveText('Two')
  await other.getByRole('button', { name: 'Conversations', exact: true }).click()
  await expect(other.locator('conversation-drawer li')).toHaveCount(1)
})
