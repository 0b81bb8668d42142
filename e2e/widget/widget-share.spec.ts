// Sharing. In: several widgets on a page that is not isolated and has a different origin from the script,
// several tabs of a site. Out: one engine for all of them, even after the tab with the engine has closed.
import type { Page } from '@playwright/test'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf } from '../../test/conformance/testing/golden.ts'
import { CROSS_ORIGIN, serveFolder } from '../../test/helpers/http-server.ts'
import { endlessModel } from '../endless-model.ts'
import { serveModels } from '../model-server.ts'
import { heapOf } from '../page-memory.ts'
import { answersOf, DIST, expect, MODEL, test } from './widget-site.ts'
import { type Chat, openTab, tabMarkup } from './widget-tabs.ts'

const REPLY = repliesOf('embedded')[0] as string

const say = (page: Page, id: string, text: string) =>
  page.evaluate(([at, said]) => (document.querySelector(`#${at}`) as Chat).send(said as string), [id, text])

test('two widgets of a script from another origin answer at once with one engine', async ({ page }) => {
  const library = await serveFolder(DIST, CROSS_ORIGIN)
  const markup = (id: string) =>
    `<halfbyte-chat id="${id}" model="${library.address}${MODEL.slice(1)}"></halfbyte-chat>`
  const site = await serveFolder(
    DIST,
    {},
    {
      '/': `<!doctype html><title>A shop</title>${markup('one')}<div id="place"></div>
      <script type="module" src="${library.address}cdn/widget.js"></script>`,
    },
  )
  await page.goto(site.address)
  const ready = (id: string) =>
    page.evaluate(
      async ([at, generateOptions]) => {
        await customElements.whenDefined('halfbyte-chat')
        const widget = document.querySelector(`#${at}`) as Chat & { load(): Promise<unknown> }
        Object.assign(widget, { generateOptions })
        await widget.load()
      },
      [id, EMBEDDED_OPTIONS] as const,
    )
  await ready('one')
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(false)
  const workers = page.workers().length
  const heap = await heapOf(page)
  await page.evaluate((html) => {
    ;(document.querySelector('#place') as HTMLElement).innerHTML = html
  }, markup('two'))
  await ready('two')
  expect(await heapOf(page)).toBeLessThan(heap + 5e6)
  expect(page.workers()).toHaveLength(workers)
  await Promise.all(['one', 'two'].map((id) => say(page, id, EMBEDDED_TURNS[0])))
  for (const id of ['one', 'two']) await expect(answersOf(page.locator(`#${id}`))).toHaveText(REPLY)
  await library.close()
  await site.close()
})

test('the tabs of a site share one engine, and the next tab takes over when the first closes', async ({
  context,
}) => {
  const site = await serveFolder(DIST, {}, { '/': tabMarkup(MODEL) })
  const first = await openTab(context, site.address)
  const second = await openTab(context, site.address)
  expect(first.workers().length).toBeGreaterThan(0)
  expect(second.workers()).toHaveLength(0)
  for (const page of [first, second]) {
    await page.evaluate((generateOptions) => {
      Object.assign(document.querySelector('#one') as Chat, { generateOptions })
    }, EMBEDDED_OPTIONS)
    await say(page, 'one', EMBEDDED_TURNS[0])
    await expect(answersOf(page.locator('#one'))).toHaveText(REPLY)
  }
  await first.close()
  await say(second, 'one', EMBEDDED_TURNS[1])
  await expect(answersOf(second.locator('#one'))).toHaveCount(2)
  expect(second.workers().length).toBeGreaterThan(0)
  await site.close()
})

test('a reply continues in the next tab when the tab with the engine is killed in the middle of it', async ({
  context,
}) => {
  const models = await serveModels(endlessModel())
  const site = await serveFolder(DIST, {}, { '/': tabMarkup(models.address) })
  const first = await openTab(context, site.address)
  const second = await openTab(context, site.address)
  await second.evaluate(() => {
    Object.assign(document.querySelector('#one') as Chat, {
      // More tokens than are generated before the tab ends, however late the test notices that.
      generateOptions: { maxTokens: 4000, seed: 3 },
    })
  })
  await say(second, 'one', 'Go on.')
  const text = () => second.locator('#one .message.assistant .body').innerText()
  await expect.poll(async () => (await text()).length).toBeGreaterThan(40)
  const before = await text()
  const session = await first.context().newCDPSession(first)
  // A crashed tab answers nothing more, not even this command.
  void session.send('Page.crash').catch(() => undefined)
  await expect.poll(async () => (await text()).length).toBeGreaterThan(before.length + 200)
  expect((await text()).slice(0, 30)).toBe(before.slice(0, 30))
  await models.close()
  await site.close()
})
