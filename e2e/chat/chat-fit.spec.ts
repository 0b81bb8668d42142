// Fitting into memory. In: the built chat page, models that are too large, a page that is killed. Out:
// whether the page warns before a download and suggests settings that fit.
import { expect, type Page, test } from '@playwright/test'
import { LLAMA_1B } from '../../lab/bench/shapes.ts'
import { hollowModel } from '../../test/conformance/testing/writers/hollow-model.ts'
import { endlessModel } from '../endless-model.ts'
import { type ModelServer, serveModels } from '../model-server.ts'
import { loadingLine, openChat, openModels, ready } from './chat-page.ts'

/** Too large for 32-bit addresses with 8-bit weights; with 4-bit weights it fits. */
const HUGE = {
  ...LLAMA_1B,
  hiddenSize: 4096,
  intermediateSize: 14336,
  layers: 24,
  headDim: 128,
  vocabSize: 1024,
}

let server: ModelServer

test.beforeAll(async () => {
  const { header, size } = hollowModel(HUGE, 'Q8_0')
  server = await serveModels([...endlessModel(), { name: 'huge.gguf', buffer: Buffer.from(header), size }])
})
test.beforeEach(() => {
  server.requests.length = 0
  server.bytesPerSecond = undefined
})
test.afterAll(() => server.close())

async function loadAddress(page: Page, address: string): Promise<void> {
  await openModels(page)
  await page.getByLabel('From an address').fill(address)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
}

const notice = (page: Page) => page.locator('.notice')

test('a model that does not fit is rejected before its download, with settings that would fit', async ({
  page,
}) => {
  await openChat(page)
  await loadAddress(page, `${server.address}huge.gguf`)
  await expect(notice(page)).toContainText(
    /huge\.gguf needs 6\.\d+ GB of memory, but this device grants 4\.29 GB\./,
  )
  await expect(page.getByRole('button', { name: 'Load with 4-bit weights' })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Load huge.gguf' })).toBeVisible()
  expect(server.requests).toEqual(['/huge.gguf'])
  await page.getByRole('button', { name: 'Continue with Halfbyte Stories' }).click()
  await expect(notice(page)).toHaveCount(0)
  await ready(page)
})

test('a page that was killed while loading a model asks before it loads it again, and suggests a smaller one', async ({
  page,
  context,
}) => {
  await openChat(page)
  // Loading stops once its memory needs are known.
  let isHeld = false
  const held = new Promise<void>((resolve) =>
    context.route('**/halfbyte-*.wasm', async (route) => {
      if (isHeld) resolve()
      else await route.continue()
    }),
  )
  // A slow download, so that the test can stop the load before the download ends.
  server.bytesPerSecond = 1e6
  await loadAddress(page, server.address)
  await expect(loadingLine(page)).toContainText('Downloading')
  isHeld = true
  server.bytesPerSecond = undefined
  await held
  const marks = () => page.evaluate(() => Object.values({ ...localStorage }).join())
  await expect.poll(marks).toContain('neededBytes')
  const session = await context.newCDPSession(page)
  const crashed = page.waitForEvent('crash')
  void session.send('Page.crash').catch(() => undefined)
  await crashed

  isHeld = false
  server.requests.length = 0
  const next = await context.newPage()
  await next.goto('/')
  await expect(notice(next)).toContainText('The page crashed while loading')
  expect(server.requests).toEqual([])
  await next.getByRole('button', { name: /^Load with a context of \d+ tokens$/ }).click()
  await ready(next)
  await expect(next.locator('.stats')).toContainText('MB')
  // All files were stored by then.
  expect(server.requests).toEqual([])
  // The load succeeded, so the next visit does not ask.
  await next.reload()
  await ready(next)
})

test('if the user leaves the page while it loads a model, the next visit does not ask', async ({ page }) => {
  await openChat(page)
  server.bytesPerSecond = 1e6
  await loadAddress(page, server.address)
  await expect(loadingLine(page)).toContainText('Downloading')
  server.bytesPerSecond = undefined
  await page.reload()
  await ready(page)
})
