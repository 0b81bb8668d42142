// Storage in Chromium. In: a model server and the origin's private files. Out: complete stored files, never
// partial ones.
import { expect, type Page } from '@playwright/test'
import type { LoadProgress } from '../../src/index.ts'
import { GOLDEN_OPTIONS, GOLDEN_PROMPT } from '../../test/conformance/testing/golden.ts'
import { FRIENDLY, stored, TEXT, test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'

interface Loaded {
  readonly text?: string
  readonly code?: string
  readonly message?: string
  readonly downloads: readonly Extract<LoadProgress, { phase: 'download' }>[]
}

/** Loads and generates in the page. Errors are returned as codes. */
const load = (
  page: Page,
  url: string,
  cache: 'opfs' | 'none' = 'opfs',
  worker: string | undefined = undefined,
): Promise<Loaded> =>
  page.evaluate(
    async ({ url, cache, worker, prompt, options }) => {
      const downloads: Loaded['downloads'][number][] = []
      const onProgress = (event: LoadProgress) => {
        if (event.phase === 'download') downloads.push(event)
      }
      try {
        const assets = { worker }
        await using engine = await halfbyte.Engine.load(url, { cache, threads: 1, assets, onProgress })
        return { text: await engine.complete(prompt, options).text(), downloads }
      } catch (error) {
        const code = halfbyte.isHalfbyteError(error) ? error.code : 'untyped'
        return { code, message: String(error), downloads }
      }
    },
    { url, cache, worker, prompt: GOLDEN_PROMPT, options: GOLDEN_OPTIONS },
  )

/** Names and sizes of the stored files, as reported by the browser. */
const files = (page: Page) =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-models')
    const found: [string, number][] = []
    for await (const [name, handle] of folder.entries()) {
      found.push([name, (await (handle as FileSystemFileHandle).getFile()).size])
    }
    return found
  })

test('the second load comes from storage, even after a reload, until the model is removed', async ({
  page,
  site,
  server,
}) => {
  const url = `${server.address}golden.gguf`
  await openLibrary(page, site.isolated)
  expect(await stored(page, url)).toBe(0)
  const first = await load(page, url)
  const size = server.files.get('golden.gguf')?.byteLength
  expect(first.text).toBe(TEXT)
  expect(first.downloads.at(-1)).toMatchObject({ loaded: size, total: size, cached: false })
  expect(await stored(page, url)).toBe(size)

  await page.reload()
  await openLibrary(page, site.isolated)
  server.files.delete('golden.gguf')
  const second = await load(page, url)
  expect(second).toEqual({
    text: TEXT,
    downloads: [{ phase: 'download', loaded: size, total: size, cached: true }],
  })
  expect(server.requests).toEqual(['GET /golden.gguf bytes=0-4194303'])

  await page.evaluate((url) => halfbyte.unstore(url), url)
  expect(await stored(page, url)).toBe(0)
  expect(await files(page)).toEqual([])
  expect((await load(page, url)).code).toBe('network')
})

test('an interrupted download resumes by itself', async ({ page, site, server }) => {
  const url = `${server.address}long.gguf`
  await openLibrary(page, site.isolated)
  Object.assign(server.behaviour, { cutAfter: 1 << 20, cuts: 2 })
  const loaded = await load(page, url)
  expect(loaded.text).toBe(TEXT)
  expect(loaded.downloads.at(-1)).toMatchObject({ loaded: 11 << 20, total: 11 << 20 })
  expect(loaded.downloads.some(({ bytesPerSecond = 0 }) => bytesPerSecond > 0)).toBe(true)
})

test('a page closed during a download resumes where it stopped, and a partial model is never read', async ({
  page,
  site,
  server,
}) => {
  const url = `${server.address}long.gguf`
  await openLibrary(page, site.isolated)
  // The short last chunk arrives, while the others stall.
  server.behaviour.stallsBefore = 8 << 20
  await page.evaluate((url) => {
    void halfbyte.Engine.load(url).catch(() => undefined)
  }, url)
  await expect
    .poll(async () => await page.evaluate(() => halfbyte.storedFiles()))
    .toMatchObject([{ url, size: 3 << 20, isComplete: false }])
  await page.reload()
  await openLibrary(page, site.isolated)
  expect(await stored(page, url)).toBe(0)
  server.requests.length = 0
  Object.assign(server.behaviour, { stallsBefore: undefined })
  const again = await load(page, url)
  expect(again.text).toBe(TEXT)
  expect(again.downloads[0]?.loaded).toBeGreaterThanOrEqual(3 << 20)
  expect(server.requests.sort()).toEqual([
    'GET /long.gguf bytes=0-4194303',
    'GET /long.gguf bytes=4194304-8388607',
  ])
  expect(await stored(page, url)).toBe(11 << 20)
})

test('a download that cannot finish keeps its data until it is removed', async ({ page, site, server }) => {
  const url = `${server.address}long.gguf`
  await openLibrary(page, site.isolated)
  server.behaviour.status = 403
  expect(await load(page, url)).toMatchObject({ code: 'network', message: expect.stringContaining('403') })
  Object.assign(server.behaviour, { status: undefined, stallsBefore: 8 << 20 })
  await page.evaluate((url) => {
    const enough = new AbortController()
    const onProgress = (event: LoadProgress) => {
      if (event.phase === 'download' && event.loaded >= 3 << 20) enough.abort()
    }
    return halfbyte.Engine.load(url, { signal: enough.signal, onProgress }).catch(() => undefined)
  }, url)
  await expect.poll(async () => (await files(page)).length).toBe(2)
  await page.evaluate((url) => halfbyte.unstore(url), url)
  expect(await files(page)).toEqual([])
})

test('a model that changed on the server in the meantime is downloaded completely', async ({
  page,
  site,
  server,
}) => {
  const url = `${server.address}long.gguf`
  await openLibrary(page, site.isolated)
  server.behaviour.stallsBefore = 8 << 20
  await page.evaluate((url) => {
    void halfbyte.Engine.load(url).catch(() => undefined)
  }, url)
  await expect.poll(async () => (await page.evaluate(() => halfbyte.storedFiles()))[0]?.size).toBe(3 << 20)
  await page.reload()
  await openLibrary(page, site.isolated)
  server.behaviour = { ...FRIENDLY, etag: '"2"' }
  server.requests.length = 0
  expect((await load(page, url)).text).toBe(TEXT)
  expect(new Set(server.requests).size).toBe(3)
})

test('space is freed by removing the least recently used files, unfinished downloads first', async ({
  page,
  site,
  server,
}) => {
  await openLibrary(page, site.isolated)
  const urls = ['a', 'b', 'c'].map((name) => `${server.address}${name}.gguf`)
  for (const name of ['a', 'b', 'c']) server.files.set(`${name}.gguf`, server.files.get('golden.gguf')!)
  for (const url of urls) expect((await load(page, url)).text).toBe(TEXT)
  await load(page, urls[0]!)
  const order = await page.evaluate(async () => (await halfbyte.storedFiles()).map(({ url }) => url))
  expect(order).toEqual([urls[1], urls[2], urls[0]])
  const size = server.files.get('golden.gguf')!.byteLength
  expect(await page.evaluate((bytes) => halfbyte.makeRoom(bytes), 3 * size + 1)).toEqual([])
  expect(await page.evaluate((bytes) => halfbyte.makeRoom(bytes), size)).toEqual([urls[1]])
  expect(await stored(page, urls[2]!)).toBe(size)
})

test('a stored file that lost its end, or its manifest, is downloaded again', async ({
  page,
  site,
  server,
}) => {
  const url = `${server.address}golden.gguf`
  await openLibrary(page, site.isolated)
  for (const ending of ['.bin', '.json']) {
    await load(page, url)
    await page.evaluate(async (ending) => {
      const root = await navigator.storage.getDirectory()
      const folder = await root.getDirectoryHandle('halfbyte-models')
      for await (const [name, handle] of folder.entries()) {
        if (!name.endsWith(ending)) continue
        const stream = await (handle as FileSystemFileHandle).createWritable({ keepExistingData: true })
        await stream.truncate(100)
        await stream.close()
      }
    }, ending)
    const again = await load(page, url)
    expect(again.text).toBe(TEXT)
    expect(again.downloads.at(-1)?.cached).toBe(false)
  }
})

test('if storage is denied, the model runs from memory', async ({ page, site, server }) => {
  const url = `${server.address}golden.gguf`
  await openLibrary(page, site.isolated)
  for (let visit = 0; visit < 2; visit++) {
    const { text, downloads } = await load(page, url, 'opfs', await page.evaluate(() => workers.private))
    expect(text).toBe(TEXT)
    expect(downloads.at(-1)?.cached).toBe(false)
  }
  expect(await stored(page, url)).toBe(0)
})

test('a model larger than the quota is rejected and runs without storing', async ({ page, site, server }) => {
  const url = `${server.address}golden.gguf`
  await openLibrary(page, site.isolated)
  const session = await page.context().newCDPSession(page)
  const quota = (quotaSize: number) =>
    session.send('Storage.overrideQuotaForOrigin', { origin: new URL(page.url()).origin, quotaSize })
  await quota(100_000)
  const refused = await load(page, url)
  expect(refused).toMatchObject({
    code: 'storage-full',
    message: expect.stringMatching(/needs \d{6} bytes of storage but/),
  })
  // If the server does not send the length, the page notices during the download.
  server.behaviour.length = false
  expect((await load(page, url)).code).toBe('storage-full')
  expect(await stored(page, url)).toBe(0)
  server.behaviour = {}
  expect((await load(page, url, 'none')).text).toBe(TEXT)
  await quota(1e9)
  expect((await load(page, url)).text).toBe(TEXT)
  expect(await stored(page, url)).toBeGreaterThan(100_000)
})

test('without storage, a model is read in ranges if the server lets the page see them, otherwise as a whole', async ({
  page,
  site,
  server,
}) => {
  const url = `${server.address}golden.gguf`
  await openLibrary(page, site.isolated)
  const range = 'GET /golden.gguf bytes=0-4194303'
  expect((await load(page, url, 'none')).text).toBe(TEXT)
  expect(server.requests.splice(0)).toEqual([range])
  server.behaviour = {}
  expect((await load(page, url, 'none')).text).toBe(TEXT)
  expect(server.requests.splice(0)).toEqual([range, 'GET /golden.gguf'])
  expect(await stored(page, url)).toBe(0)
})

test('a body compressed in transit arrives complete, although other origins cannot detect the compression', async ({
  page,
  site,
  server,
}) => {
  const url = `${server.address}golden.gguf`
  server.behaviour.gzip = true
  await openLibrary(page, site.isolated)
  expect((await load(page, url)).text).toBe(TEXT)
  expect(await stored(page, url)).toBe(server.files.get('golden.gguf')?.byteLength)
})

test('two tabs that load the same model at once both get it', async ({ page, site, server, context }) => {
  const other = await context.newPage()
  await Promise.all([openLibrary(page, site.isolated), openLibrary(other, site.isolated)])
  // Which tab finishes first, and how far the other one is by then, varies between rounds.
  for (let round = 0; round < 8; round++) {
    const name = `round-${round}.gguf`
    const url = server.address + name
    server.files.set(name, server.files.get('golden.gguf')!)
    const loaded = await Promise.all([load(page, url), load(other, url)])
    expect(loaded).toMatchObject([{ text: TEXT }, { text: TEXT }])
    expect((await load(other, url)).downloads.at(-1)?.cached).toBe(true)
  }
})
