// Network, disk and page faults in Chromium. In: a load with one fault. Out: the model or a typed error, and
// the model on the next attempt.
import { expect, type Page } from '@playwright/test'
import type { Behaviour } from '../../test/helpers/file-server.ts'
import { FRIENDLY, load, MIB, stored, TEXT, test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'

/** Starts a load without waiting for it. */
const begin = (page: Page, url: string) =>
  page.evaluate((url) => {
    const loading = halfbyte.Engine.load(url, { threads: 1, assets: { worker: workers.hasty } })
    const outcome = loading.then(
      () => 'loaded',
      (error) => (halfbyte.isHalfbyteError(error) ? error.code : `untyped: ${error}`),
    )
    Object.assign(globalThis, { outcome })
  }, url)

const outcome = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as { outcome: Promise<string> }).outcome)

/** Requests for the one chunk of `long.gguf` that does not stall. */
const forLastChunk = (requests: readonly string[]) =>
  requests.filter((request) => Number(/bytes=(\d+)-/.exec(request)?.[1] ?? 0) >= 8 * MIB)

const partial = (page: Page) =>
  page.evaluate(async () => (await halfbyte.storedFiles()).map(({ size }) => size).join())

interface Fault {
  readonly title: string
  readonly behaviour: Behaviour
  /** The error's code; absent if a retry succeeds. */
  readonly code?: string
  /** Default: the file with several chunks. */
  readonly file?: string
}

/**
 * Faults that depend on Chromium's own network and storage; src/core/store/testing/faults.ts has the others.
 */
const FAULTS: readonly Fault[] = [
  { title: 'cuts three connections', behaviour: { cutAfter: MIB, cuts: 3 } },
  { title: 'cuts every connection before the first byte', behaviour: { cutAfter: 0 }, code: 'network' },
  { title: 'stalls forever', behaviour: { stalls: true }, code: 'network' },
  { title: 'answers 200 to a range', behaviour: { ranges: false } },
  { title: 'answers 416 to everything', behaviour: { status: 416 }, code: 'network' },
  { title: 'answers 416 at first', behaviour: { status: 416, refusals: 1 } },
  {
    title: 'says that the file is longer than it is, and does not support ranges',
    behaviour: { liesBy: MIB, ranges: false },
    code: 'network',
  },
  {
    title: 'says that the file is shorter than it is',
    behaviour: { liesBy: -1000 },
    file: 'golden.gguf',
    code: 'format',
  },
  {
    title: 'says that the file is shorter than it is, and supports neither ranges nor versions',
    behaviour: { liesBy: -1000, ranges: false, etag: '' },
    file: 'golden.gguf',
    code: 'format',
  },
  { title: 'corrupts a byte of a weight', behaviour: { flips: MIB }, file: 'tiny.hbm', code: 'integrity' },
  { title: 'corrupts a byte that has no hash', behaviour: { flips: 0 }, code: 'format' },
]

for (const { title, behaviour, code, file = 'long.gguf' } of FAULTS) {
  test(`a server that ${title}`, async ({ page, site, server }) => {
    const url = server.address + file
    await openLibrary(page, site.isolated)
    server.behaviour = { ...FRIENDLY, ...behaviour }
    const first = await load(page, url)
    if (code === undefined) expect(first.code).toBeUndefined()
    else expect(first).toEqual({ code })
    server.behaviour = { ...FRIENDLY }
    const { text, ...failure } = await load(page, url)
    expect(failure, 'the next attempt').toEqual({})
    if (file !== 'tiny.hbm') expect([first.text ?? TEXT, text]).toEqual([TEXT, TEXT])
    expect(await stored(page, url)).toBe(server.files.get(file)?.byteLength)
  })
}

/** Changes bytes [start, end) of the stored file, as another script of the origin would. */
const spoil = (page: Page, start: number, end: number) =>
  page.evaluate(
    async ({ start, end }) => {
      const root = await navigator.storage.getDirectory()
      const folder = await root.getDirectoryHandle('halfbyte-models')
      for await (const [name, handle] of folder.entries()) {
        if (!name.endsWith('.bin')) continue
        const file = handle as FileSystemFileHandle
        const stream = await file.createWritable({ keepExistingData: true })
        await stream.write({ type: 'write', position: start, data: new Uint8Array(end - start).fill(0xaa) })
        await stream.close()
      }
    },
    { start, end },
  )

/** Modification time of the stored file, in milliseconds. */
const modified = (page: Page) =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-models')
    for await (const [name, handle] of folder.entries())
      if (name.endsWith('.bin')) return (await (handle as FileSystemFileHandle).getFile()).lastModified
    return undefined
  })

for (const file of ['long.gguf', 'tiny.hbm']) {
  test(`changed bytes of the stored ${file} are downloaded again, but no others`, async ({
    page,
    site,
    server,
  }) => {
    const url = server.address + file
    await openLibrary(page, site.isolated)
    const { text } = await load(page, url)
    expect(text).toBeTruthy()
    const written = await modified(page)
    expect(written).toBeGreaterThan(0)
    expect((await load(page, url)).text).toBe(text)
    expect(await modified(page)).toBe(written)
    server.requests.length = 0
    expect((await load(page, url)).text).toBe(text)
    expect(server.requests).toEqual([])
    await spoil(page, 50_000, 100_000)
    expect((await load(page, url)).text).toBe(text)
    expect(server.requests.map((request) => request.split(' ')[2]?.split('-')[0])).toEqual(['bytes=0'])
    expect((await load(page, url)).text).toBe(text)
    expect(server.requests).toHaveLength(1)
  })
}

test('a download whose journal claims missing chunks fetches them', async ({ page, site, server }) => {
  const url = `${server.address}long.gguf`
  await openLibrary(page, site.isolated)
  server.behaviour.stallsBefore = 8 * MIB
  await begin(page, url)
  await expect.poll(() => partial(page)).toBe(String(3 * MIB))
  await page.reload()
  await openLibrary(page, site.isolated)
  await spoil(page, 8 * MIB, 11 * MIB - 1)
  server.behaviour = { ...FRIENDLY }
  server.requests.length = 0
  expect((await load(page, url)).text).toBe(TEXT)
  expect(new Set(server.requests).size).toBe(3)
})

test('five tabs that load the same model at once all get it from one download', async ({
  page,
  site,
  server,
  context,
}) => {
  const url = `${server.address}long.gguf`
  const tabs = [page, ...(await Promise.all(Array.from({ length: 4 }, () => context.newPage())))]
  await Promise.all(tabs.map((tab) => openLibrary(tab, site.isolated)))
  const loaded = await Promise.all(tabs.map((tab) => load(tab, url)))
  expect(loaded).toEqual(tabs.map(() => ({ text: TEXT })))
  expect(server.requests).toHaveLength(3)
  // All of them find the damage at the same time.
  await spoil(page, 5 * MIB, 6 * MIB)
  expect(await Promise.all(tabs.map((tab) => load(tab, url)))).toEqual(loaded)
})

test('a disk that fills up during other writes is reported, and existing files stay', async ({
  page,
  site,
  server,
}) => {
  await openLibrary(page, site.isolated)
  expect((await load(page, `${server.address}golden.gguf`)).text).toBe(TEXT)
  const session = await page.context().newCDPSession(page)
  const quota = (quotaSize: number) =>
    session.send('Storage.overrideQuotaForOrigin', { origin: new URL(page.url()).origin, quotaSize })
  await quota(4 * MIB)
  // Without a length, the full disk is noticed only during the download.
  server.behaviour = { ...FRIENDLY, ranges: false, length: false }
  expect(await load(page, `${server.address}long.gguf`)).toEqual({ code: 'storage-full' })
  expect((await load(page, `${server.address}golden.gguf`)).text).toBe(TEXT)
  await quota(1e9)
  expect((await load(page, `${server.address}long.gguf`)).text).toBe(TEXT)
})

test('an endless body is abandoned once the disk is full, and leaves nothing behind', async ({
  page,
  site,
  server,
}) => {
  await openLibrary(page, site.isolated)
  expect((await load(page, `${server.address}golden.gguf`)).text).toBe(TEXT)
  const kept = await page.evaluate(async () => (await navigator.storage.estimate()).usage ?? 0)
  const session = await page.context().newCDPSession(page)
  const { origin } = new URL(page.url())
  await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: kept + 40 * MIB })
  server.behaviour = { ...FRIENDLY, isEndless: true }
  expect(await load(page, `${server.address}long.gguf`)).toEqual({ code: 'storage-full' })
  expect(await stored(page, `${server.address}golden.gguf`)).toBe(server.files.get('golden.gguf')?.byteLength)
  expect(await page.evaluate(async () => (await navigator.storage.estimate()).usage ?? 0)).toBeLessThan(
    kept + MIB,
  )
})

test('a worker killed during a download is replaced, and the model loads', async ({ page, site, server }) => {
  const url = `${server.address}long.gguf`
  await openLibrary(page, site.isolated)
  server.behaviour.stallsBefore = 8 * MIB
  await begin(page, url)
  await expect.poll(() => partial(page)).toBe(String(3 * MIB))
  await page.evaluate(() => new BroadcastChannel('hasty').postMessage('close'))
  expect(await outcome(page)).toBe('internal')
  server.behaviour = { ...FRIENDLY }
  server.requests.length = 0
  expect((await load(page, url)).text).toBe(TEXT)
  expect(server.requests).not.toEqual([])
  expect(forLastChunk(server.requests), 'stored chunks are not fetched again').toEqual([])
})

test('a tab closed during a download lets a waiting tab take over', async ({
  page,
  site,
  server,
  context,
}) => {
  const url = `${server.address}long.gguf`
  const other = await context.newPage()
  await Promise.all([openLibrary(page, site.isolated), openLibrary(other, site.isolated)])
  server.behaviour.stallsBefore = 8 * MIB
  await begin(page, url)
  await expect.poll(() => partial(other)).toBe(String(3 * MIB))
  await begin(other, url)
  server.behaviour = { ...FRIENDLY }
  server.requests.length = 0
  await page.close()
  expect(await outcome(other)).toBe('loaded')
  // The page may have retried its stalled requests before it was closed.
  expect(server.requests).not.toEqual([])
  expect(forLastChunk(server.requests), 'stored chunks are not fetched again').toEqual([])
  expect((await load(other, url)).text).toBe(TEXT)
})
