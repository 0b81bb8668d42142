// Downloads. In: the built chat page and a download that stalls or is interrupted. Out: whether the page,
// reopened, lists it, resumes it or removes it, and whether it reports retries.
import { expect, type Page, test } from '@playwright/test'
import { LLAMA_1B } from '../../lab/bench/shapes.ts'
import { hollowModel } from '../../test/conformance/testing/writers/hollow-model.ts'
import { type FileServer, serveFiles } from '../../test/helpers/file-server.ts'
import { loadingLine, openChat, openModels, openSettings, overflowing, ready } from './chat-page.ts'

/** Five chunks of 4 MB. */
const SHAPE = { ...LLAMA_1B, layers: 1, intermediateSize: 1024, vocabSize: 1024 }
const STANDS_BEFORE = 8 << 20

let server: FileServer

test.beforeEach(async () => {
  const { header, size } = hollowModel(SHAPE, 'Q8_0')
  const file = new Uint8Array(size)
  file.set(header)
  server = await serveFiles({ 'cut.gguf': file })
  Object.assign(server.behaviour, { exposes: true, etag: '"1"' })
})
test.afterEach(() => server.close())

const stored = (page: Page) =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-models', { create: true })
    let count = 0
    for await (const _name of folder.keys()) count++
    return count
  })

/** Starts a download whose first chunks never arrive, and opens the page again. */
async function cutDownload(page: Page): Promise<void> {
  await openChat(page)
  // The request for the header is smaller than a chunk, and gets its answer.
  server.behaviour.onRequest = ({ behaviour, requests }) => {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(requests.at(-1) ?? '') ?? []
    behaviour.stallsBefore = Number(to) - Number(from) > 1 << 20 ? STANDS_BEFORE : 0
  }
  await openModels(page)
  await page.getByLabel('From an address').fill(`${server.address}cut.gguf`)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await expect(loadingLine(page)).toContainText(/Downloading\s+1\d\.\d MB/)
  await page.reload()
  server.behaviour.onRequest = () => undefined
  Object.assign(server.behaviour, { stallsBefore: undefined })
  await ready(page)
  await expect(page.locator('.bar .model')).toContainText('Halfbyte Stories')
}

test('an interrupted download is listed with its size and resumes where it stopped', async ({ page }) => {
  await cutDownload(page)
  server.requests.length = 0
  await openModels(page)
  await expect(page.getByText(/^\d+\.\d MB of an interrupted download/)).toBeVisible()
  await page.getByRole('button', { name: 'Continue cut.gguf' }).click()
  await expect(page.locator('.bar .model')).toContainText('cut.gguf')
  const ranges = server.requests.filter((request) => request.includes('bytes='))
  const again = ranges.filter((request) => Number(/bytes=(\d+)/.exec(request)?.[1]) >= STANDS_BEFORE)
  expect(ranges.length).toBeGreaterThan(0)
  expect(again.filter((request) => !/bytes=\d+-\d{1,6}$/.test(request)).length, ranges.join()).toBeLessThan(2)
  await openModels(page)
  await expect(page.getByText(/^\d+\.\d MB on this device/)).toBeVisible()
  await expect(page.getByRole('button', { name: 'Continue cut.gguf' })).toHaveCount(0)
  await page.keyboard.press('Escape')
  await openSettings(page)
  await page.getByRole('button', { name: 'Storage', exact: true }).click()
  const storage = page.getByRole('dialog', { name: 'Storage' })
  await expect(storage).toContainText(/cut\.gguf\s*\d+\.\d MB · 127\.0\.0\.1/)
  await storage.getByRole('button', { name: 'Remove cut.gguf' }).click()
  await expect(storage).toContainText('None. The models included with the page')
  expect(await stored(page)).toBe(0)
})

test('an interrupted download can be removed', async ({ page }) => {
  await cutDownload(page)
  expect(await stored(page)).toBeGreaterThan(0)
  await openModels(page)
  await page.getByRole('button', { name: 'Remove cut.gguf' }).click()
  await expect.poll(() => stored(page), { message: 'nothing is left on the device' }).toBe(0)
  await page.keyboard.press('Escape')
  await openModels(page)
  await expect(page.getByText('cut.gguf')).toHaveCount(0)
})

test('a lost connection is reported, with the time and number of retries', async ({ page }) => {
  await openChat(page)
  const refused = new Set<string>()
  server.behaviour.onRequest = ({ behaviour, requests }) => {
    const [, from = ''] = /bytes=(\d+)-/.exec(requests.at(-1) ?? '') ?? []
    const isFirst = Number(from) >= STANDS_BEFORE && !refused.has(from)
    refused.add(from)
    Object.assign(behaviour, { status: isFirst ? 503 : undefined, refusals: 1, retryAfter: 4 })
  }
  await openModels(page)
  await page.getByLabel('From an address').fill(`${server.address}cut.gguf`)
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await expect(loadingLine(page)).toContainText(/^\s*Connection lost\s+next try in [1-4] sec \(2 of 6\)/, {
    timeout: 30_000,
  })
  expect(await overflowing(page)).toEqual([])
  await page.screenshot({ path: 'build/screens/retry.png' })
  await expect(page.locator('.bar .model')).toContainText('cut.gguf')
})
