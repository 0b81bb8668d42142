// Interrupted answers. In: pages that end in the middle of an answer. Out: whether the next visit has what
// the user saw.
import { type BrowserContext, expect, type Page, test } from '@playwright/test'
import { endlessModel } from '../../endless-model.ts'
import { bodies, openChat, openModels, ready, say, set } from '../chat-page.ts'

const QUESTION = 'Tell me a very long story.'

/** Ways in which a page can end. Each one resolves to the page of the next visit. */
const ENDS: Readonly<Record<string, (page: Page, context: BrowserContext) => Promise<Page>>> = {
  async 'a reload'(page) {
    await page.reload()
    return page
  },
  async 'a navigation'(page) {
    await page.goto('about:blank')
    await page.goto('/')
    return page
  },
  async 'a closed tab'(page, context) {
    const next = await context.newPage()
    await page.close({ runBeforeUnload: true })
    await expect.poll(() => page.isClosed()).toBe(true)
    await next.goto('/')
    return next
  },
  async 'a crash'(page, context) {
    const session = await context.newCDPSession(page)
    const crashed = page.waitForEvent('crash')
    // The command gets no answer, because the renderer is gone.
    session.send('Page.crash').catch(() => undefined)
    await crashed
    const next = await context.newPage()
    await next.goto('/')
    return next
  },
}
/** How far (ms) storage may lag behind the display if nothing tells the page that it is ending. */
const BEHIND = { 'a crash': 1000 } as Readonly<Record<string, number | undefined>>

const shownText = (page: Page): Promise<string> =>
  page.evaluate(() => [...document.querySelectorAll('.message.assistant .body')].at(-1)?.textContent ?? '')

const plain = (text: string): string => text.replaceAll(/\s+/g, '')

async function openEndless(page: Page): Promise<void> {
  await openChat(page)
  await set(page, { 'Longest answer': '2000' })
  await openModels(page)
  await page
    .getByLabel('Choose files')
    .setInputFiles(endlessModel().map((file) => ({ ...file, mimeType: 'application/octet-stream' })))
  await expect(page.locator('.bar .model')).toContainText('model.safetensors')
  await ready(page)
}

for (const [name, end] of Object.entries(ENDS)) {
  test(`after ${name}, the part of the answer that was shown is kept and can be continued`, async ({
    page,
    context,
  }) => {
    await openEndless(page)
    await say(page, QUESTION)
    let now = page
    for (const [turn, letters] of [1, 60, 300].entries()) {
      if (turn > 0) {
        // The next visit continues where the last one ended.
        await openEndless(now)
        await now.getByRole('button', { name: 'Continue', exact: true }).click()
      }
      await now.waitForFunction(
        (least) =>
          ([...document.querySelectorAll('.message.growing .body')].at(-1)?.textContent ?? '').length > least,
        letters,
      )
      const shown = await shownText(now)
      await now.waitForTimeout(BEHIND[name] ?? 0)
      const before = now
      now = await end(now, context)
      if (before !== now && !before.isClosed()) await before.close()
      await ready(now)
      await expect(now.locator('.ending')).toHaveText('Interrupted')
      await expect(now.getByRole('button', { name: 'Regenerate', exact: true })).toBeEnabled()
      // The page renders only nearby messages, and a long answer moves its question out of range.
      await expect(async () => {
        await now.locator('.log').evaluate((log) => log.scrollTo(0, 0))
        await expect(now.locator('.message.user .body')).toHaveText(QUESTION, { timeout: 500 })
      }).toPass()
      await expect(bodies(now)).toHaveCount(2)
      // Text at the end, such as half of a link, renders differently once it is complete.
      const known = plain(shown).slice(0, -32)
      // The page may have shown only the end of a long answer.
      expect(plain(await shownText(now)), `turn ${turn}`).toContain(known)
    }
  })
}
