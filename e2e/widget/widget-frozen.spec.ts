// Frozen tabs. In: the tab with the engine, which the browser freezes in the middle of replies, as it may
// with background tabs. Out: whether the next tab continues, and whether the thawed tab lets it stay the
// leader.
//
// Playwright keeps every page visible, and a visible page is never frozen, so this test uses Puppeteer.
import { chromium } from '@playwright/test'
import puppeteer, { type Browser, type Page } from 'puppeteer-core'
import { type HttpServer, serveFolder } from '../../test/helpers/http-server.ts'
import { chromiumOptions } from '../chromium.ts'
import { endlessModel } from '../endless-model.ts'
import { type ModelServer, serveModels } from '../model-server.ts'
import { DIST, expect, test } from './widget-site.ts'
import { type Chat, tabMarkup } from './widget-tabs.ts'

/** The widget, and the errors that it has reported. */
type Watched = Chat & { state: string; clear(): void; failed?: string[] }

let models: ModelServer
let site: HttpServer
let browser: Browser

test.beforeAll(async () => {
  models = await serveModels(endlessModel())
  site = await serveFolder(DIST, {}, { '/': tabMarkup(models.address) })
  const { executablePath = chromium.executablePath(), args } = chromiumOptions()
  browser = await puppeteer.launch({ browser: 'chrome', executablePath, args })
})
test.afterAll(async () => {
  await browser.close()
  await site.close()
  await models.close()
})

async function openTab(): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(site.address)
  await expect
    .poll(() => page.evaluate(() => (document.querySelector('#one') as Watched).state))
    .toBe('ready')
  await page.evaluate(() => {
    const chat = document.querySelector('#one') as Watched
    const failed: string[] = []
    chat.failed = failed
    chat.addEventListener('halfbyte-error', (event) =>
      failed.push(String((event as CustomEvent<Error>).detail)),
    )
  })
  return page
}

/** Clears the conversation, and asks for a reply that is always the same. */
const ask = (page: Page) =>
  page.evaluate(() => {
    const chat = document.querySelector('#one') as Watched
    chat.clear()
    Object.assign(chat, { generateOptions: { maxTokens: 400, seed: 3 } })
    chat.send('Go on.')
  })

const answer = (page: Page) =>
  page.evaluate(() => {
    const root = document.querySelector('#one')?.shadowRoot
    const message = root?.querySelector('.message.assistant')
    const text = message?.querySelector('.body')?.textContent?.trim() ?? ''
    return { text, hasEnded: message?.matches(':not(.growing)') === true && text !== '' }
  })

const begun = (page: Page) => expect.poll(async () => (await answer(page)).text.length).toBeGreaterThan(40)

async function whole(page: Page): Promise<string> {
  await expect.poll(async () => (await answer(page)).hasEnded).toBe(true)
  return (await answer(page)).text
}

test('a leader frozen in the middle of replies is replaced, and does not lead again when it thaws', async () => {
  const first = await openTab()
  const second = await openTab()
  expect(first.workers().length).toBeGreaterThan(0)
  expect(second.workers()).toHaveLength(0)
  await ask(second)
  const expected = await whole(second)

  // Each tab has a reply in progress when the leader freezes.
  await ask(first)
  await begun(first)
  await ask(second)
  await begun(second)
  const session = await first.createCDPSession()
  await session.send('Page.setWebLifecycleState', { state: 'frozen' })
  const before = await answer(second)
  expect(before.hasEnded, 'frozen in the middle').toBe(false)
  expect(await whole(second)).toBe(expected)
  expect(second.workers().length).toBeGreaterThan(0)

  // A tab that opens meanwhile uses the next leader, and still does when the first one thaws during its
  // reply.
  const third = await openTab()
  await ask(third)
  await session.send('Page.setWebLifecycleState', { state: 'active' })
  expect(await whole(third)).toBe(expected)
  expect(third.workers()).toHaveLength(0)

  expect(await whole(first), 'its own reply').toBe(expected)
  await expect.poll(() => first.workers().length).toBe(0)
  await ask(first)
  expect(await whole(first)).toBe(expected)
  for (const page of [first, second, third])
    expect(await page.evaluate(() => (document.querySelector('#one') as Watched).failed)).toEqual([])
  expect(second.workers().length).toBeGreaterThan(0)
})
