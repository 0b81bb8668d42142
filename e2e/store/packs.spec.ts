// Packs of stored GGUF files in Chromium. In: a model server and the origin's private files. Out: what a
// later visit reads, with shared memory and without.
import { expect, type Page } from '@playwright/test'
import { GOLDEN_OPTIONS, GOLDEN_PROMPT } from '../../test/conformance/testing/golden.ts'
import { stored, TEXT, test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'

/** Loads, generates, and keeps the engine until its pack is stored, if `keeps`. */
const load = (page: Page, url: string, threads: number, keeps: boolean): Promise<string> =>
  page.evaluate(
    async ({ url, threads, keeps, prompt, options }) => {
      await using engine = await halfbyte.Engine.load(url, { threads })
      const text = await engine.complete(prompt, options).text()
      const hasPack = async () =>
        (await halfbyte.storedFiles()).some((file) => file.url.startsWith('pack:') && file.isComplete)
      while (keeps && !(await hasPack())) await new Promise((resolve) => setTimeout(resolve, 100))
      return text
    },
    { url, threads, keeps, prompt: GOLDEN_PROMPT, options: GOLDEN_OPTIONS },
  )

const urls = (page: Page) => page.evaluate(async () => (await halfbyte.storedFiles()).map((file) => file.url))

for (const [title, isolated, threads] of [
  ['with threads', true, 2],
  ['on one thread of a page that is not isolated', false, 1],
] as const) {
  test(`a later visit reads the pack that an earlier one has stored, ${title}`, async ({
    page,
    site,
    server,
  }) => {
    const url = `${server.address}golden.gguf`
    const address = isolated ? site.isolated : site.plain
    await openLibrary(page, address)
    expect(await load(page, url, threads, true)).toBe(TEXT)
    const pack = `pack:auto:${url}`
    expect((await urls(page)).sort()).toEqual([url, pack].sort())
    expect(await stored(page, url)).toBeGreaterThan(server.files.get('golden.gguf')!.byteLength)

    await page.reload()
    await openLibrary(page, address)
    server.files.delete('golden.gguf')
    // The file and its pack are used in this order.
    expect(await load(page, url, threads, false)).toBe(TEXT)
    expect(await urls(page)).toEqual([url, pack])

    await page.evaluate((url) => halfbyte.unstore(url), url)
    expect(await urls(page)).toEqual([])
  })
}

test('a page that is closed before its pack is stored has the file alone', async ({ page, site, server }) => {
  const url = `${server.address}golden.gguf`
  await openLibrary(page, site.isolated)
  await page.evaluate(async (url) => void (await halfbyte.Engine.load(url, { threads: 2 })), url)
  await page.reload()
  await openLibrary(page, site.isolated)
  expect(await urls(page)).toEqual([url])
  expect(await load(page, url, 2, false)).toBe(TEXT)
})
