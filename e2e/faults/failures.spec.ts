// Failures in Chromium. In: hostile files, missing files, workers that die. Out: typed errors, and a page
// that can load again.
import { expect, type Page } from '@playwright/test'
import type { ErrorCode, LoadOptions } from '../../src/index.ts'
import {
  GOLDEN,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
} from '../../test/conformance/testing/golden.ts'
import { HOSTILE_MODELS } from '../../test/conformance/testing/writers/hostile-files.ts'
import { openLibrary, test } from '../library-site.ts'

/** The fields of an error that can be passed from the page to the test. */
interface Failure {
  readonly isTyped: boolean
  readonly code: ErrorCode | undefined
  readonly message: string
}

/** Tries to load a model that the page's Engine must reject. */
const failure = (
  page: Page,
  urls: readonly string[],
  options: Omit<LoadOptions, 'draft' | 'vision' | 'lora'> = {},
): Promise<Failure> =>
  page.evaluate(
    async ({ urls, options }) => {
      const files = await Promise.all(
        urls.map(async (url) => {
          const blob = await (await fetch(url)).blob()
          return new File([blob], url.slice(url.lastIndexOf('/') + 1))
        }),
      )
      try {
        await (await halfbyte.Engine.load(files, options)).dispose()
      } catch (error) {
        const isTyped = halfbyte.isHalfbyteError(error)
        return {
          isTyped,
          code: isTyped ? error.code : undefined,
          message: String(error),
        }
      }
      throw new Error('the model was loaded')
    },
    { urls, options },
  )

const goldenText = (page: Page, url: string, options: Omit<LoadOptions, 'draft' | 'vision' | 'lora'> = {}) =>
  page.evaluate(
    async ({ url, options, prompt, decode }) => {
      const engine = await halfbyte.Engine.load(url, { cache: 'none', ...options })
      const text = await engine.complete(prompt, decode).text()
      await engine.dispose()
      return { text, threads: engine.threads }
    },
    { url, options, prompt: GOLDEN_PROMPT, decode: GOLDEN_OPTIONS },
  )

test('every hostile model is rejected, and the page loads the next', async ({ page, site }) => {
  await openLibrary(page, site.isolated)
  const good = await site.add(await goldenFile(GOLDEN))
  expect(await goldenText(page, good)).toMatchObject({ text: goldenReply(GOLDEN).text })
  for (const { title, code, says, files } of HOSTILE_MODELS) {
    const urls: string[] = []
    for (const file of await files()) urls.push(await site.add(file))
    const found = await failure(page, urls, { threads: 1 })
    expect(found, title).toMatchObject({ isTyped: true, code, message: expect.stringMatching(says) })
  }
  expect(await goldenText(page, good)).toMatchObject({ text: goldenReply(GOLDEN).text })
})

test('a load aborted while downloading rejects with the exact reason', async ({ page, site }) => {
  await openLibrary(page, site.isolated)
  const good = await site.add(await goldenFile(GOLDEN))
  const isReason = await page.evaluate(async (url) => {
    const controller = new AbortController()
    const reason = { because: 'closed' }
    const { signal } = controller
    const onProgress = () => controller.abort(reason)
    const error: unknown = await halfbyte.Engine.load(url, { cache: 'none', signal, onProgress }).catch(
      (e) => e,
    )
    return error === reason
  }, good)
  expect(isReason).toBe(true)
  expect(await goldenText(page, good)).toMatchObject({ text: goldenReply(GOLDEN).text })
})

const MISSING: readonly { what: string; code: ErrorCode; options: LoadOptions }[] = [
  { what: 'engine worker', code: 'worker', options: { assets: { worker: 'missing.js' } } },
  { what: 'wasm folder', code: 'network', options: { assets: { wasm: 'missing/' } } },
  { what: 'compute worker', code: 'internal', options: { assets: { compute: 'missing.js' }, threads: 2 } },
]
for (const { what, code, options } of MISSING) {
  test(`a missing ${what} is reported`, async ({ page, site }) => {
    await openLibrary(page, site.isolated)
    const good = await site.add(await goldenFile(GOLDEN))
    expect(await failure(page, [good], options)).toMatchObject({ isTyped: true, code })
    expect(await goldenText(page, good)).toMatchObject({ text: goldenReply(GOLDEN).text })
  })
}

test('if compute workers do not load, an engine with automatic threads uses one thread', async ({
  page,
  site,
}) => {
  await openLibrary(page, site.isolated)
  const good = await site.add(await goldenFile(GOLDEN))
  expect(await goldenText(page, good, { assets: { compute: 'missing.js' } })).toEqual({
    text: goldenReply(GOLDEN).text,
    threads: 1,
  })
})

test('an unreachable address is a network error', async ({ page, site }) => {
  await openLibrary(page, site.isolated)
  const code = await page.evaluate(() =>
    halfbyte.Engine.load('models/none.gguf', { cache: 'none' }).then(
      () => 'loaded',
      (error) => error.code,
    ),
  )
  expect(code).toBe('network')
})

for (const death of ['throw', 'close'] as const) {
  test(`a worker that dies in the middle of a reply (${death}) rejects all pending calls`, async ({
    page,
    site,
  }) => {
    await openLibrary(page, site.isolated)
    const good = await site.add(await goldenFile(GOLDEN))
    const codes = await page.evaluate(
      async ({ url, prompt, death }) => {
        const codeOf = (promise: Promise<unknown>) =>
          promise.then(
            () => 'resolved',
            (error) => (halfbyte.isHalfbyteError(error) ? error.code : String(error)),
          )
        const assets = { worker: workers.mortal }
        const engine = await halfbyte.Engine.load(url, { assets, cache: 'none', threads: 2 })
        const session = engine.createSession()
        const running = session.send(prompt, { temperature: 0 })
        // An unread stream pauses after a few chunks, so the next request has to wait its turn.
        const iterator = running[Symbol.asyncIterator]()
        const first = await iterator.next()
        const waiting = codeOf(session.send('and then').result)
        new BroadcastChannel('mortal').postMessage(death)
        const pending = [await waiting, await codeOf(running.result)]
        const rest = async () => {
          while (!(await iterator.next()).done);
        }
        const asked = [engine.memory(), engine.countTokens('a'), session.send('b').result, session.fork()]
        return {
          began: first.done === false,
          pending: [...pending, await codeOf(rest())],
          later: await Promise.all(asked.map(codeOf)),
          disposed: await codeOf(engine.dispose()),
        }
      },
      { url: good, prompt: GOLDEN_PROMPT, death },
    )
    expect(codes).toEqual({
      began: true,
      pending: ['internal', 'internal', 'internal'],
      later: ['disposed', 'disposed', 'disposed', 'disposed'],
      disposed: 'resolved',
    })
    expect(await goldenText(page, good)).toMatchObject({ text: goldenReply(GOLDEN).text })
  })
}
