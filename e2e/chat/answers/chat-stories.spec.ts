// Stories of the embedded model. In: requests for stories with two things. Out: whether each story has both,
// even offline, and whether the model answers even if the code that ensures this cannot be loaded.
import { expect, type Page, test } from '@playwright/test'
import { answers, ask, openChat, ready, set } from '../chat-page.ts'

/** On its own, the model includes both things in half of such stories. */
async function tells(page: Page, request: string, things: readonly RegExp[]): Promise<void> {
  await ask(page, request)
  for (const thing of things) await expect(answers(page).last().locator('.body')).toContainText(thing)
}

test.describe('with its service worker', () => {
  test.use({ serviceWorkers: 'allow' })

  test('a story has the requested things, even offline', async ({ page, context }) => {
    const { problems } = await openChat(page)
    await set(page, { Seed: '1' })
    await tells(page, 'Tell me a bedtime story about a boat on a lake.', [/\bboat/i, /\blake/i])
    await tells(page, 'Tell me a story about two friends and a snowman.', [/\bfriend/i, /\bsnowman/i])
    await page.evaluate(() => navigator.serviceWorker.ready)
    await expect
      .poll(() => page.evaluate(async () => (await caches.match('./index.html')) !== undefined))
      .toBe(true)
    await context.setOffline(true)
    await page.reload()
    await ready(page)
    await tells(page, 'A story with a walrus and a lighthouse, please.', [/\bwalrus/i, /\blighthouse/i])
    expect(problems).toEqual([])
  })
})

test('the model answers even if the code that enforces the request cannot be loaded', async ({ page }) => {
  await page.route('**/keep-words-*.js', (route) => route.fulfill({ status: 404 }))
  await openChat(page)
  await ask(page, 'Tell me a story about a boat.')
  await expect(answers(page).last().locator('.body')).not.toBeEmpty()
  await expect(answers(page).last().locator('.ending')).toHaveCount(0)
})

test('if the user writes in another language, the page says which one the model knows', async ({ page }) => {
  const { problems } = await openChat(page)
  await ask(page, 'Hallo, wie geht es dir?')
  await expect(answers(page).last().locator('.body')).toContainText('I only know English')
  await ask(page, 'Hello! How are you?')
  await expect(answers(page).last().locator('.body')).not.toContainText('I only know English')
  expect(problems).toEqual([])
})
