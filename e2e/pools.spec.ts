// Pools in Chromium. In: shards that die or hang, and notes from earlier loads. Out: timely typed errors, and
// loads that do not measure twice.
import { expect, type Page } from '@playwright/test'
import {
  GOLDEN,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
} from '../test/conformance/testing/golden.ts'
import { test as base, openLibrary } from './library-site.ts'

const SHARDS = { pool: 'shards', threads: 2, cache: 'none' } as const

/** Workers of the page, in the order in which they were started. */
declare global {
  var spawned: Worker[]
}

const test = base.extend<{ model: string }>({
  async model({ site, page }, use) {
    await page.addInitScript(() => {
      globalThis.spawned = []
      globalThis.Worker = class extends Worker {
        constructor(...how: ConstructorParameters<typeof Worker>) {
          super(...how)
          spawned.push(this)
        }
      }
    })
    await openLibrary(page, site.plain)
    await use(await site.add(await goldenFile(GOLDEN)))
  },
})

const MEASURED = { ...SHARDS, threads: 'auto' } as const

/** The text generated after a load, by default on two shards, and the number of shards. */
const goldenText = (page: Page, model: string, how: typeof SHARDS | typeof MEASURED = SHARDS) =>
  page.evaluate(
    async ({ model, prompt, options, how }) => {
      await using engine = await halfbyte.Engine.load(model, how)
      const text = await engine.complete(prompt, options).text()
      return { text, threads: engine.threads }
    },
    { model, prompt: GOLDEN_PROMPT, options: GOLDEN_OPTIONS, how },
  )

const GOOD = { text: goldenReply(GOLDEN).text, threads: 2 }

for (const { death, when } of [
  { death: 'terminate', when: 'in a reply' },
  { death: 'terminate', when: 'between replies' },
  { death: 'hang', when: 'in a reply' },
  { death: 'hang', when: 'between replies' },
  { death: 'throw', when: 'in a reply' },
] as const) {
  test(`a shard that dies ${when} (${death}) stops the engine with a typed error, and the next load works`, async ({
    page,
    model,
  }) => {
    const codes = await page.evaluate(
      async ({ model, prompt, death, when, how }) => {
        const codeOf = (promise: Promise<unknown>) =>
          promise.then(
            () => 'resolved',
            (error) => (halfbyte.isHalfbyteError(error) ? error.code : String(error)),
          )
        const assets = { worker: workers.impatient, compute: workers.mortalCompute }
        const engine = await halfbyte.Engine.load(model, { ...how, assets })
        const die = () => {
          if (death === 'terminate') spawned.at(-1)?.terminate()
          else new BroadcastChannel('mortal-compute').postMessage(death)
        }
        const session = engine.createSession({ overflow: 'shift' })
        await session.send(prompt, { temperature: 0, maxTokens: 4 }).result
        if (when === 'between replies') die()
        const running = session.send('and then', { temperature: 0, maxTokens: 100_000 })
        let dead = when !== 'in a reply'
        const read = (async () => {
          for await (const _ of running) {
            if (!dead) die()
            dead = true
          }
        })()
        const pending = [await codeOf(running.result), await codeOf(read)]
        const later = [await codeOf(session.send('b').result), await codeOf(session.save())]
        await engine.dispose()
        for (const worker of spawned.splice(0)) worker.terminate()
        return { pending, later }
      },
      { model, prompt: GOLDEN_PROMPT, death, when, how: SHARDS },
    )
    expect(codes.pending).toEqual(['internal', 'internal'])
    expect(codes.later).toEqual(['disposed', 'disposed'])
    expect(await goldenText(page, model)).toEqual(GOOD)
  })
}

test('a shard that never answers fails a load that requires shards, but an automatic load continues without it', async ({
  page,
  model,
}) => {
  const found = await page.evaluate(
    async ({ model, how }) => {
      const assets = { worker: workers.hasty, compute: workers.silent }
      const asked = await halfbyte.Engine.load(model, { ...how, assets }).then(
        () => 'loaded',
        (error) => error.code,
      )
      await using engine = await halfbyte.Engine.load(model, { ...how, threads: 'auto', assets })
      return { asked, pool: engine.pool, note: engine.note }
    },
    { model, how: SHARDS },
  )
  expect(found).toMatchObject({
    asked: 'internal',
    pool: 'single',
    note: expect.stringMatching(/did not answer/),
  })
  expect(await goldenText(page, model)).toEqual(GOOD)
})

/** Values of the stored notes. */
const notes = (page: Page) =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-notes', { create: true })
    const found: unknown[] = []
    for await (const handle of folder.values()) {
      const text = await (await (handle as FileSystemFileHandle).getFile()).text()
      found.push(text.startsWith('{"machine"') ? JSON.parse(text).value : text)
    }
    return found
  })

const spoil = (page: Page, replace: string) =>
  page.evaluate(async (replace) => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-notes')
    for await (const handle of folder.values()) {
      const file = handle as FileSystemFileHandle
      const text = await (await file.getFile()).text()
      const [from = '', to = ''] = replace.split('>')
      const stream = await file.createWritable()
      await stream.write(from === '' ? to : text.replace(from, to))
      await stream.close()
    }
  }, replace)

test('measurements are stored, and a note that is damaged, old or from another browser is replaced', async ({
  page,
  model,
}) => {
  // A model this small may be fastest on one thread.
  const measured = expect.arrayContaining([expect.any(Number)])
  const { text } = GOOD
  // A requested number of threads is not measured.
  expect(await goldenText(page, model)).toEqual(GOOD)
  expect(await notes(page)).toEqual([])
  expect(await goldenText(page, model, MEASURED)).toMatchObject({ text })
  await expect.poll(() => notes(page)).toEqual([measured])
  // A truncated file, a note from another browser and one from 2001 are all ignored.
  for (const wrong of ['>{"mach', 'Chrome>Chrom', '"made":1>"made":']) {
    await spoil(page, `${JSON.stringify((await notes(page))[0])}>[5,1]`)
    await spoil(page, wrong)
    expect(await goldenText(page, model, MEASURED)).toMatchObject({ text })
    await expect.poll(() => notes(page), wrong).toEqual([measured])
    expect(await notes(page)).not.toEqual([[5, 1]])
  }
  await spoil(page, `${JSON.stringify((await notes(page))[0])}>[5,1]`)
  expect(await goldenText(page, model, MEASURED)).toMatchObject({ threads: 2 })
  expect(await notes(page)).toEqual([[5, 1]])
})

test('if storage is denied, each load measures', async ({ page, model }) => {
  const threads = await page.evaluate(
    async ({ model, how }) => {
      await using engine = await halfbyte.Engine.load(model, { ...how, assets: { worker: workers.private } })
      return engine.threads
    },
    { model, how: MEASURED },
  )
  expect(threads).toBeGreaterThan(0)
  expect(await notes(page)).toEqual([])
})
