// Networks in Chromium. In: a small encoder, in the page and in a worker, isolated and not, under strict
// policies. Out: equal outputs, progress, aborts and typed errors, and a page that stays responsive.

import { expect, type Page } from '@playwright/test'
import { bertBytes } from '../../lab/bench/graphs/bert.ts'
import { openLibrary, test } from '../library-site.ts'
import { blocked, watchPolicy } from '../policy.ts'

const SHAPE = { layers: 2, hidden: 64, heads: 4, intermediate: 128, vocabulary: 60, positions: 128 }
const file = () => new File([new Uint8Array(bertBytes(SHAPE))], 'bert.onnx')

type Options = NonNullable<Parameters<typeof networks.load>[1]>

/** A run's outputs as numbers, the network's properties, and the reported phases. */
const outcome = (page: Page, model: string, options: Options, tokens = 20) =>
  page.evaluate(
    async ({ model, options, tokens }) => {
      const told: number[] = []
      const network = await networks.load(model, {
        ...options,
        onProgress: ({ loaded }) => told.push(loaded),
      })
      const ids = (value: (at: number) => number) => ({
        dtype: 'i64' as const,
        dims: [1, tokens],
        data: BigInt64Array.from({ length: tokens }, (_, at) => BigInt(value(at))),
      })
      const inputs = {
        input_ids: ids((at) => (at * 7) % 60),
        attention_mask: ids(() => 1),
        token_type_ids: ids(() => 0),
      }
      const { last_hidden_state } = await network.run(inputs)
      const { threads, build } = network
      await network.dispose()
      return { values: Array.from(last_hidden_state!.data, Number), threads, build, loaded: told.at(-1) }
    },
    { model, options, tokens },
  )

test('in a worker, on one thread and on two, a network gives the same outputs as in the page', async ({
  page,
  site,
}) => {
  const model = await site.add(file())
  await openLibrary(page, site.isolated)
  const here = await outcome(page, model, { cache: 'none' })
  expect(here.values).toHaveLength(20 * SHAPE.hidden)
  expect(here).toMatchObject({ threads: 1, build: 'relaxed', loaded: bertBytes(SHAPE).length })
  expect(await outcome(page, model, { cache: 'none', worker: true })).toEqual(here)
  expect(await outcome(page, model, { cache: 'none', threads: 2 })).toEqual({ ...here, threads: 2 })
  const plain = await outcome(page, model, { cache: 'none', threads: 2, build: 'simd128' })
  expect(plain).toMatchObject({ threads: 2, build: 'simd128' })
  for (const [at, value] of plain.values.entries()) expect(value).toBeCloseTo(here.values[at]!, 4)
})

test('two threads compute runs in a row, after a pause and at another length as one does', async ({
  page,
  site,
}) => {
  const model = await site.add(file())
  await openLibrary(page, site.isolated)
  const found = await page.evaluate(async (model) => {
    const open = (threads: number) => networks.load(model, { threads, worker: true, cache: 'none' })
    const [alone, together] = [await open(1), await open(2)]
    const run = async (network: typeof alone, tokens: number) => {
      const ids = (value: (at: number) => number) => ({
        dtype: 'i64' as const,
        dims: [1, tokens],
        data: BigInt64Array.from({ length: tokens }, (_, at) => BigInt(value(at))),
      })
      const inputs = { input_ids: ids((at) => (at * 7) % 60), attention_mask: ids(() => 1) }
      return (await network.run({ ...inputs, token_type_ids: ids(() => 0) })).last_hidden_state!.data.join()
    }
    const differing: string[] = []
    for (const tokens of [100, 128]) {
      const wanted = await run(alone, tokens)
      for (let pause = 0; pause < 3; pause++) {
        for (let time = 0; time < 20; time++)
          if ((await run(together, tokens)) !== wanted) differing.push(`${tokens} tokens, ${pause}, ${time}`)
        // Longer than workers wait for the next run.
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    }
    const { threads } = together
    // A worker waits for the next run when the network is closed.
    await run(together, 100)
    await together.dispose()
    await alone.dispose()
    return { differing, threads }
  }, model)
  expect(found).toEqual({ differing: [], threads: 2 })
})

test('a page that is not isolated has one thread', async ({ page, site }) => {
  const model = await site.add(file())
  await openLibrary(page, site.plain)
  const here = await outcome(page, model, { cache: 'none' })
  expect(await outcome(page, model, { cache: 'none', threads: 2 })).toEqual(here)
})

test('a worker stores downloads for the next load', async ({ page, site }) => {
  const model = await site.add(file())
  await openLibrary(page, site.isolated)
  let asked = 0
  page.context().on('request', (request) => {
    if (request.url().endsWith(model)) asked++
  })
  const first = await outcome(page, model, { worker: true })
  expect(asked).toBeGreaterThan(0)
  asked = 0
  expect((await outcome(page, model, { worker: true })).values).toEqual(first.values)
  expect(asked).toBe(0)
})

test('a strict policy under which the engine compiles also allows networks and 8-bit weights', async ({
  page,
  site,
}) => {
  const model = await site.add(file())
  const address = await site.under("default-src 'self'; script-src 'self' 'wasm-unsafe-eval'")
  await watchPolicy(page)
  await openLibrary(page, address)
  const here = await outcome(page, model, { cache: 'none' })
  expect((await outcome(page, model, { cache: 'none', threads: 2 })).values).toEqual(here.values)
  const rounded = await outcome(page, model, { cache: 'none', threads: 2, weights: 'w8' })
  expect(rounded.values).not.toEqual(here.values)
  for (const [at, value] of rounded.values.entries())
    expect(Math.abs(value - here.values[at]!)).toBeLessThan(0.2)
  expect(await blocked(page)).toEqual([])
})

test('under Trusted Types, a worker and threads start from their script URLs', async ({ page, site }) => {
  const model = await site.add(file())
  await openLibrary(
    page,
    await site.under(
      "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; require-trusted-types-for 'script'; trusted-types halfbyte",
    ),
  )
  const { network: worker, compute } = await page.evaluate(() => workers)
  const { threads, values } = await outcome(page, model, {
    cache: 'none',
    threads: 2,
    assets: { worker, compute },
  })
  expect(threads).toBe(2)
  expect(values).toEqual((await outcome(page, model, { cache: 'none' })).values)
})

test('the error under a policy without wasm-unsafe-eval names it, in the page and in a worker', async ({
  page,
  site,
}) => {
  const model = await site.add(file())
  await openLibrary(page, await site.under("default-src 'self'; script-src 'self'"))
  for (const worker of [false, true]) {
    const why = await page.evaluate(
      ({ model, worker }) =>
        networks.load(model, { worker, cache: 'none' }).then(
          () => 'loaded',
          ({ code, message }) => `${code}: ${message}`,
        ),
      { model, worker },
    )
    expect(why).toBe(
      "unsupported: the page's Content-Security-Policy forbids WebAssembly; add 'wasm-unsafe-eval' to its script-src",
    )
  }
})

/** The code or name, and the message, of an error from `networks.load` or a run. */
declare global {
  var reasonOf: (work: Promise<unknown>) => Promise<string>
}

const giveReasons = (page: Page) =>
  page.addInitScript(() => {
    globalThis.reasonOf = (work) =>
      work.then(
        () => 'no error',
        ({ code, name, message }) => `${code ?? name}: ${message}`,
      )
  })

test('an abort, a missing file and a missing script reject with their reasons', async ({ page, site }) => {
  const model = await site.add(file())
  await giveReasons(page)
  await openLibrary(page, site.isolated)
  const found = await page.evaluate(async (model) => {
    const control = new AbortController()
    const aborted = networks.load(model, { worker: true, signal: control.signal })
    control.abort(new Error('the tab was closed'))
    return {
      aborted: await reasonOf(aborted),
      absent: await reasonOf(networks.load('models/none.onnx', { worker: true, cache: 'none' })),
      script: await reasonOf(networks.load(model, { worker: true, assets: { worker: '/none.js' } })),
    }
  }, model)
  expect(found.aborted).toBe('Error: the tab was closed')
  expect(found.absent).toMatch(/^network: .*404/)
  expect(found.script).toMatch(/^worker: the engine's worker script .*none\.js did not load/)
})

test("a bundle's missing script is reported with its URL", async ({ page, site }) => {
  const model = await site.add(file())
  await giveReasons(page)
  await page.context().route(/network\.worker/, (route) => route.fulfill({ status: 404 }))
  await openLibrary(page, site.isolated)
  const why = await page.evaluate((model) => reasonOf(networks.load(model, { worker: true })), model)
  expect(why).toMatch(/^worker: the engine's worker script http\S+network\.worker\S+ did not load/)
})

test('an id outside its table causes an error, and the death of the worker rejects the run', async ({
  page,
  site,
}) => {
  const model = await site.add(file())
  await giveReasons(page)
  await openLibrary(page, site.isolated)
  const found = await page.evaluate(async (model) => {
    const started: Worker[] = []
    globalThis.Worker = class extends Worker {
      constructor(...how: ConstructorParameters<typeof Worker>) {
        super(...how)
        started.push(this)
      }
    }
    const network = await networks.load(model, { threads: 2, cache: 'none' })
    const ids = { dtype: 'i64' as const, dims: [1, 2], data: new BigInt64Array(2) }
    const inputs = { input_ids: ids, attention_mask: ids, token_type_ids: ids }
    const wrong = { ...ids, data: new BigInt64Array(2).fill(1000n) }
    const outside = await reasonOf(network.run({ ...inputs, input_ids: wrong }))
    const right = await reasonOf(network.run(inputs))
    started[0]!.terminate()
    return { outside, right, dead: await reasonOf(network.run(inputs)), workers: started.length }
  }, model)
  expect(found.outside).toMatch(/^format: an index of /)
  expect(found.right).toBe('no error')
  expect(found.dead).toMatch(/^internal: the engine's worker failed: it ended/)
  expect(found.workers).toBe(2)
})

/** Overwrites stored files of so many bytes with zeros. Returns how many there are. */
const eraseStored = (page: Page, bytes: number) =>
  page.evaluate(async (bytes) => {
    const erased = async (folder: FileSystemDirectoryHandle): Promise<number> => {
      let count = 0
      for await (const entry of folder.values()) {
        if (entry instanceof FileSystemDirectoryHandle) count += await erased(entry)
        else if (entry instanceof FileSystemFileHandle && (await entry.getFile()).size === bytes) {
          const to = await entry.createWritable({ keepExistingData: true })
          await to.write(new Uint8Array(bytes))
          await to.close()
          count++
        }
      }
      return count
    }
    return erased(await navigator.storage.getDirectory())
  }, bytes)

test('a second visit runs stored plans without reading the graph, which a new shape needs', async ({
  page,
  site,
}) => {
  const model = await site.add(file())
  let asked = 0
  page.context().on('request', (request) => {
    if (request.url().endsWith(model)) asked++
  })
  const visit = async (tokens: number) => {
    await openLibrary(page, site.isolated)
    asked = 0
    return (await outcome(page, model, { worker: true }, tokens)).values
  }
  const first = await visit(20)
  // All constants of this graph are small, so plans contain them.
  expect(await eraseStored(page, bertBytes(SHAPE).length)).toBe(1)
  expect(await visit(20)).toEqual(first)
  expect(asked).toBe(0)
  // The stored graph is found to be damaged, and fetched again.
  expect(await visit(21)).toHaveLength(21 * SHAPE.hidden)
  expect(asked).toBeGreaterThan(0)
})
