// Stored sessions in Chromium. In: a model and the origin's private files. Out: conversations that continue
// after a reload, never from a partial file.
import { expect, type Page } from '@playwright/test'
import type { GenerationResult, Session } from '../../src/index.ts'
import { GOLDEN, goldenFile } from '../../test/conformance/testing/golden.ts'
import { test as base, openLibrary } from '../library-site.ts'

const QUESTION = 'the river goes to the sea and the sea goes to the hello world '
const OPTIONS = { temperature: 0, maxTokens: 24, speculation: 'off' } as const

const test = base.extend<{ model: string }>({
  async model({ site }, use) {
    await use(await site.add(await goldenFile(GOLDEN)))
  },
})

/** Sends a message and stores the session. Returns the reply, or the error's code. */
const sayAndStore = (
  page: Page,
  model: string,
  name: string,
  question = QUESTION,
  worker?: string,
  threads = 1,
) =>
  page.evaluate(
    async ({ model, name, question, options, worker, threads }) => {
      await using engine = await halfbyte.Engine.load(model, {
        threads,
        cache: 'none',
        assets: { worker },
      })
      await using session = engine.createSession()
      const { usage } = await session.send(question, options).result
      try {
        const stored = await session.store(name)
        // The conversation's reply without a reload.
        const next = await session.send('and then', options).result
        return { stored, usage, next }
      } catch (error) {
        return { code: halfbyte.isHalfbyteError(error) ? error.code : String(error), message: String(error) }
      }
    },
    { model, name, question, options: OPTIONS, worker, threads },
  )

const goOn = (page: Page, model: string, name: string, threads = 1): Promise<GenerationResult | string> =>
  page.evaluate(
    async ({ model, name, options, threads }) => {
      await using engine = await halfbyte.Engine.load(model, { threads, cache: 'none' })
      try {
        const session = await engine.restoreSession(name)
        return await session.send('and then', options).result
      } catch (error) {
        return halfbyte.isHalfbyteError(error) ? error.code : String(error)
      }
    },
    { model, name, options: OPTIONS, threads },
  )

const listed = (page: Page) => page.evaluate(() => halfbyte.storedSessions())

/** Names and sizes of the stored files, as reported by the browser. */
const files = (page: Page) =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-sessions')
    const found: [string, number][] = []
    for await (const [name, handle] of folder.entries())
      found.push([name, (await (handle as FileSystemFileHandle).getFile()).size])
    return found.sort()
  })

/** Damages the stored files with this extension. */
const spoil = (page: Page, ending: string, how: 'cut' | 'flip' | 'copy') =>
  page.evaluate(
    async ({ ending, how }) => {
      const root = await navigator.storage.getDirectory()
      const folder = await root.getDirectoryHandle('halfbyte-sessions')
      for await (const [name, handle] of folder.entries()) {
        if (!name.endsWith(ending)) continue
        const bytes = await (await (handle as FileSystemFileHandle).getFile()).bytes()
        const [key] = name.split('-')
        const target = how === 'copy' ? await folder.getFileHandle(`${key}-7.bin`, { create: true }) : handle
        const stream = await (target as FileSystemFileHandle).createWritable()
        bytes[300]! ^= how === 'flip' ? 1 : 0
        await stream.write(how === 'flip' ? bytes : bytes.subarray(0, bytes.length - 9))
        await stream.close()
        return
      }
    },
    { ending, how },
  )

for (const [kind, threads] of [
  ['isolated', 1],
  ['plain', 1],
  ['plain', 2],
] as const) {
  test(`a conversation continues after a reload of the ${kind} page on ${threads} workers, and processes only new tokens`, async ({
    page,
    site,
    model,
  }) => {
    await openLibrary(page, site[kind])
    const { stored, usage, next } = await sayAndStore(page, model, 'trip', QUESTION, undefined, threads)
    expect(stored).toMatchObject({ name: 'trip', size: expect.any(Number) })
    expect(await listed(page)).toEqual([stored])
    expect((await files(page)).map(([, size]) => size)).toContain(stored?.size)
    await page.reload()
    await openLibrary(page, site[kind])
    const after = (await goOn(page, model, 'trip', threads)) as GenerationResult
    expect(after.text).toBe(next?.text)
    expect(after.usage).toEqual(next?.usage)
    expect(after.usage.cachedTokens).toBe(usage!.promptTokens + usage!.completionTokens - 1)
    await page.evaluate(() => halfbyte.unstoreSession('trip'))
    expect(await listed(page)).toEqual([])
    expect(await files(page)).toEqual([])
    expect(await goOn(page, model, 'trip')).toBe('unsupported')
  })
}

test('a partial file is never read: the previous one is read, or none', async ({ page, site, model }) => {
  await openLibrary(page, site.isolated)
  const { next } = await sayAndStore(page, model, 'trip')
  // As if a tab had been closed while writing the next file.
  await spoil(page, '.bin', 'copy')
  expect(await files(page)).toHaveLength(3)
  expect(((await goOn(page, model, 'trip')) as GenerationResult).text).toBe(next?.text)
  // The next store, under any name, removes that file.
  await sayAndStore(page, model, 'other', 'why')
  expect(await files(page)).toHaveLength(4)
  expect((await listed(page)).map(({ name }) => name)).toEqual(['trip', 'other'])
  await page.evaluate(() => halfbyte.unstoreSession('other'))
  await spoil(page, '.bin', 'flip')
  expect(await goOn(page, model, 'trip')).toBe('integrity')
  await spoil(page, '.bin', 'cut')
  expect(await listed(page)).toEqual([])
  expect(await goOn(page, model, 'trip')).toBe('unsupported')
  expect(await goOn(page, model, 'never')).toBe('unsupported')
})

test('two tabs that store under one name leave one complete session, and a third tab reads either of the two', async ({
  page,
  site,
  model,
  context,
}) => {
  const tabs = [page, await context.newPage(), await context.newPage()] as const
  await Promise.all(tabs.map((tab) => openLibrary(tab, site.isolated)))
  const before = await sayAndStore(page, model, 'shared')
  const work = (tab: Page, question: string) =>
    tab.evaluate(
      async ({ model, question, options }) => {
        await using engine = await halfbyte.Engine.load(model, { threads: 1, cache: 'none' })
        await using session = engine.createSession()
        await session.send(question, options).result
        for (let turn = 0; turn < 8; turn++) await session.store('shared')
        return (await session.send('and then', options).result).text
      },
      { model, question, options: OPTIONS },
    )
  const readers = tabs[2].evaluate(
    async ({ model, options }) => {
      await using engine = await halfbyte.Engine.load(model, { threads: 1, cache: 'none' })
      const texts: string[] = []
      for (let turn = 0; turn < 8; turn++) {
        await using session = await engine.restoreSession('shared')
        texts.push(await session.send('and then', options).text())
      }
      return texts
    },
    { model, options: OPTIONS },
  )
  const written = await Promise.all([work(tabs[0], QUESTION), work(tabs[1], 'why')])
  for (const text of await readers) expect([before.next?.text, ...written]).toContain(text)
  expect(await listed(page)).toHaveLength(1)
  expect(await files(page)).toHaveLength(2)
  expect(written).toContain(((await goOn(page, model, 'shared')) as GenerationResult).text)
})

/** Loads the model into a page that stays open for several calls, and sends a message there. */
const openSession = (page: Page, model: string, question = QUESTION) =>
  page.evaluate(
    async ({ model, question, options }) => {
      const engine = await halfbyte.Engine.load(model, { threads: 1, cache: 'none' })
      const session = engine.createSession()
      await session.send(question, options).result
      const fork = await session.fork()
      const next = await fork.send('and then', options).text()
      await fork.dispose()
      Object.assign(globalThis, { session })
      return next
    },
    { model, question, options: OPTIONS },
  )

/** Stores the session `times` under a name. Returns the last outcome. */
const storeAgain = (page: Page, name: string, times = 1) =>
  page.evaluate(
    async ({ name, times }) => {
      const { session } = globalThis as unknown as { session: Session }
      try {
        for (let time = 0; time < times; time++) await session.store(name)
        return 'stored'
      } catch (error) {
        return halfbyte.isHalfbyteError(error) ? error.code : String(error)
      }
    },
    { name, times },
  )

/** Resolves when there are more files than one session has. */
const inTheMiddle = (page: Page) =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-sessions')
    for (let names = 0; names < 3; ) {
      names = 0
      for await (const _ of folder.keys()) names++
    }
  })

test('a full disk rejects the new session and keeps the old one, no matter when it fills up', async ({
  page,
  site,
  model,
}) => {
  await openLibrary(page, site.isolated)
  const { next, stored: old } = await sayAndStore(page, model, 'trip')
  const before = await files(page)
  const session = await page.context().newCDPSession(page)
  const origin = new URL(page.url()).origin
  const limit = (quotaSize?: number) =>
    session.send('Storage.overrideQuotaForOrigin', { origin, ...(quotaSize !== undefined && { quotaSize }) })
  await limit(60_000)
  const refused = await sayAndStore(page, model, 'trip', QUESTION.repeat(3))
  expect(refused.code).toBe('storage-full')
  expect(refused.message).toMatch(/the session needs \d{5} bytes of storage but .*remove a stored session/)
  expect(await files(page)).toEqual(before)
  // From no space at all to nearly enough for both sessions.
  await limit()
  await openSession(page, model, QUESTION.repeat(2))
  const outcomes: string[] = []
  for (let step = 0; step < 12; step++) {
    await limit(Math.round((old!.size * (step + 1)) / 2))
    outcomes.push(await storeAgain(page, 'trip'))
    if (outcomes.at(-1) === 'stored') break
    expect(await files(page)).toEqual(before)
  }
  expect(new Set(outcomes)).toEqual(new Set(['storage-full', 'stored']))
  await limit()
  await sayAndStore(page, model, 'trip')
  expect(((await goOn(page, model, 'trip')) as GenerationResult).text).toBe(next?.text)
})

test('five tabs that store under one name leave one complete session', async ({
  page,
  site,
  model,
  context,
}) => {
  const others = await Promise.all([1, 2, 3, 4].map(() => context.newPage()))
  const tabs = [page, ...others]
  await Promise.all(tabs.map((tab) => openLibrary(tab, site.isolated)))
  const written = await Promise.all(
    tabs.map((tab, index) => openSession(tab, model, QUESTION + 'why '.repeat(index))),
  )
  const outcomes = await Promise.all(tabs.map((tab) => storeAgain(tab, 'shared', 4)))
  expect(outcomes).toEqual(tabs.map(() => 'stored'))
  expect(await listed(page)).toHaveLength(1)
  expect(await files(page)).toHaveLength(2)
  expect(written).toContain(((await goOn(page, model, 'shared')) as GenerationResult).text)
})

test('a renderer that crashes while storing leaves the previous session or the new one', async ({
  site,
  model,
  context,
}) => {
  const written = new Set<string>()
  for (let round = 0; round < 3; round++) {
    const page = await context.newPage()
    await openLibrary(page, site.isolated)
    written.add(await openSession(page, model, QUESTION + 'why '.repeat(round)))
    expect(await storeAgain(page, 'trip')).toBe('stored')
    void storeAgain(page, 'trip', 1000).catch(() => undefined)
    await inTheMiddle(page)
    const crashed = page.waitForEvent('crash')
    const session = await context.newCDPSession(page)
    void session.send('Page.crash').catch(() => undefined)
    await crashed
    const next = await context.newPage()
    await openLibrary(next, site.isolated)
    expect(written).toContain(((await goOn(next, model, 'trip')) as GenerationResult).text)
    // Storing a session removes partial files.
    await openSession(next, model)
    expect(await storeAgain(next, 'other')).toBe('stored')
    expect(await files(next)).toHaveLength(4)
    await next.close()
  }
})

test('if storage is denied, storing is rejected with advice', async ({ page, site, model }) => {
  await openLibrary(page, site.isolated)
  const worker = await page.evaluate(() => workers.private)
  const refused = await sayAndStore(page, model, 'trip', QUESTION, worker)
  expect(refused.code).toBe('unsupported')
  expect(refused.message).toContain('session.save()')
  expect(await listed(page)).toEqual([])
})
