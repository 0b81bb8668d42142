// The page's catalogue. In: a fake hub with a tiny model at every URL. Out: whether one tap leads from an
// entry to an answer, with a verdict before the download.
import { expect, type Page, type Route, test } from '@playwright/test'
import { LLAMA_1B } from '../../lab/bench/shapes.ts'
import { CATALOGUE } from '../../src/core/store/catalogue.ts'
import { hubUrl, parseHubAddress, WEIGHTS } from '../../src/core/store/hub.ts'
import { catalogueFiles } from '../../test/conformance/testing/catalogue-files.ts'
import { hollowModel } from '../../test/conformance/testing/writers/hollow-model.ts'
import { answers, ask, openChat, openModels, overflowing, ready, set } from './chat-page.ts'

const HUB = 'https://huggingface.co/'
const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Expose-Headers': 'Content-Range',
}
/** Too large for 32-bit addresses with 8-bit weights; with 4-bit weights it fits. */
const HUGE = { hiddenSize: 4096, intermediateSize: 14336, layers: 24, headDim: 128, vocabSize: 1024 }

let files: Readonly<Record<string, Uint8Array>>
test.beforeAll(async () => {
  files = await catalogueFiles()
})

/** A fake hub that serves ranges like the real one. `requests` collects the paths. */
async function standIn(page: Page, sizes: Readonly<Record<string, number>> = {}): Promise<string[]> {
  const requests: string[] = []
  await page.route(`${HUB}**`, async (route) => {
    const path = decodeURIComponent(route.request().url().slice(HUB.length))
    if (route.request().method() !== 'OPTIONS') requests.push(path)
    await answer(route, files[path], sizes[path])
  })
  return requests
}

async function answer(route: Route, file: Uint8Array | undefined, size = file?.byteLength): Promise<void> {
  if (route.request().method() === 'OPTIONS') return route.fulfill({ status: 204, headers: CORS })
  if (file === undefined) return route.fulfill({ status: 404, headers: CORS, body: 'no' })
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(route.request().headers()['range'] ?? '') ?? []
  if (from === undefined) return route.fulfill({ headers: CORS, body: Buffer.from(file) })
  const part = file.subarray(Number(from), Number(to) + 1)
  const range = `bytes ${from}-${Number(from) + part.byteLength - 1}/${size}`
  return route.fulfill({ status: 206, headers: { ...CORS, 'Content-Range': range }, body: Buffer.from(part) })
}

const row = (page: Page, title: string) =>
  page.getByRole('list', { name: 'Larger models' }).getByRole('button', { name: new RegExp(`^${title}\\b`) })

/**
 * One model is a file, the other a folder. src/tools/cli/models/catalogue.test.ts goes from every entry to an
 * answer.
 */
const FORMS = [true, false].map(
  (isFile) => CATALOGUE.find(({ address }) => (parseHubAddress(address)!.file !== undefined) === isFile)!,
)
for (const model of FORMS) {
  test(`${model.title} fits, is downloaded with one tap, answers, and is removed with another`, async ({
    page,
  }) => {
    const requests = await standIn(page)
    await openChat(page)
    // A random model may end an answer at its first token; with this seed, it does not.
    await set(page, { 'Longest answer': '12', Seed: '1' })
    await openModels(page)
    for (const { title, licence } of CATALOGUE) {
      await expect(row(page, title)).toContainText(licence)
      await expect(row(page, title)).toContainText(/\d+ MB/)
    }
    await page.evaluate(() => {
      const seen: string[] = []
      Object.assign(globalThis, { seen })
      new MutationObserver(() => {
        seen.push(document.querySelector('.foot')?.textContent ?? '')
      }).observe(document.body, { subtree: true, childList: true, characterData: true })
    })
    await row(page, model.title).click()
    await ready(page)
    await expect(page.locator('.bar .model')).toContainText(model.title)
    const seen = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen.join('\n'))
    expect(seen).toContain('Checking whether it fits')
    expect(seen).toMatch(
      new RegExp(`${model.title} fits: it needs [\\d.]+ MB of memory\\. Expect about [\\d,]+ tokens/s\\.`),
    )
    const { repo, revision } = parseHubAddress(model.address)!
    expect(requests.length).toBeGreaterThan(0)
    for (const path of requests) expect(path).toContain(`${repo}/resolve/${revision}/`)

    await ask(page, 'Hello!')
    await expect(answers(page).locator('.body')).not.toBeEmpty()

    requests.length = 0
    await page.reload()
    await ready(page)
    await expect(page.locator('.bar .model')).toContainText(model.title)
    // Only a folder's optional files are requested again.
    const weights = requests.filter((path) => WEIGHTS.test(path))
    expect(weights, 'the second visit reads from the device').toEqual([])
    await openModels(page)
    await expect(row(page, model.title)).toContainText('on this device')
    await page.getByRole('button', { name: `Forget ${model.title}` }).click()
    await expect(row(page, model.title)).not.toContainText('on this device')
  })
}

test('a model that does not fit is not downloaded', async ({ page }) => {
  const [model] = CATALOGUE
  const { header, size } = hollowModel({ ...LLAMA_1B, ...HUGE }, 'Q8_0')
  const path = new URL(hubUrl(parseHubAddress(model!.address)!)).pathname.slice(1)
  const file = new Uint8Array(header.length + (8 << 20))
  file.set(header)
  const before = files
  files = { ...files, [path]: file }
  const requests = await standIn(page, { [path]: size })
  await openChat(page)
  await openModels(page)
  await row(page, model!.title).click()
  await expect(page.locator('.notice')).toContainText(
    /SmolLM2 135M needs 6\.\d+ GB of memory, but this device/,
  )
  await expect(page.getByRole('button', { name: 'Load with 4-bit weights' })).toBeVisible()
  expect(requests.length).toBeLessThan(4)
  files = before
})

test('typing the repository as an address gives the same model, and the list fits a phone', async ({
  page,
}) => {
  await standIn(page)
  await openChat(page)
  await openModels(page)
  expect(await overflowing(page)).toEqual([])
  await page.getByLabel('From an address').fill('HuggingFaceTB/SmolLM2-360M-Instruct-GGUF')
  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await ready(page)
  await expect(page.locator('.bar .model')).toContainText('SmolLM2 360M')
})
