// Networks without a bundler. In: dist/cdn, from a static file server. Out: whether a network gives the same
// outputs in the page, in a worker and on threads, from the page's own origin and from another one.
import { fileURLToPath } from 'node:url'
import { expect, type Frame, type Page, test } from '@playwright/test'
import { bertBytes } from '../../lab/bench/graphs/bert.ts'
import { NodeWriter, TYPE } from '../../src/network/onnx/testing/node-writer.ts'
import { modelBytes } from '../../src/network/onnx/testing/write-model.ts'
import { CROSS_ORIGIN, ISOLATION, serveFolder } from '../../test/helpers/http-server.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const DIST = here('../../dist')
const SHAPE = { layers: 1, hidden: 64, heads: 2, intermediate: 96, vocabulary: 30, positions: 12 }
const MODEL = { '/bert.onnx': bertBytes(SHAPE) }

/** A page with one script. `at`: the URL of dist. */
const pageOf = (at: string) => `<!doctype html><title>App</title>
<script type="module">
  import { Network } from '${at}cdn/network.js'
  globalThis.run = async (options) => {
    const network = await Network.load('${at}bert.onnx', { ...options, cache: 'none' })
    const ids = (value) => ({ dtype: 'i64', dims: [1, 6], data: BigInt64Array.from({ length: 6 }, (_, at) => BigInt(value(at))) })
    const inputs = { input_ids: ids((at) => at + 3), attention_mask: ids(() => 1), token_type_ids: ids(() => 0) }
    const { last_hidden_state: { data } } = await network.run(inputs)
    const { threads } = network
    await network.dispose()
    return { values: [...data], threads }
  }
</script>`

interface Outcome {
  readonly values: readonly number[]
  readonly threads: number
}

async function outcome(page: Page | Frame, options: object): Promise<Outcome> {
  await page.waitForFunction(() => 'run' in globalThis)
  return page.evaluate(
    (options) => (globalThis as unknown as { run(given: object): Promise<Outcome> }).run(options),
    options,
  )
}

for (const [name, headers, threads] of [
  ['isolated', ISOLATION, 2],
  ['not isolated', {}, 1],
] as const)
  for (const place of ["the page's own server", 'another origin'] as const)
    test(`a network from ${place} runs in the page, in a worker and on threads, ${name}`, async ({
      page,
    }) => {
      const isOwn = place !== 'another origin'
      const library = await serveFolder(DIST, CROSS_ORIGIN, MODEL)
      const pages = { '/': pageOf(isOwn ? '/' : library.address), ...(isOwn ? MODEL : {}) }
      const server = await serveFolder(DIST, headers, pages)
      await page.goto(server.address)
      for (const weights of ['f32', 'w8']) {
        const inPage = await outcome(page, { weights, worker: false })
        expect(inPage).toMatchObject({ threads: 1, values: { length: 6 * SHAPE.hidden } })
        expect(Math.hypot(...inPage.values)).toBeGreaterThan(1)
        // By default.
        expect(await outcome(page, { weights })).toEqual(inPage)
        expect(await outcome(page, { weights, threads: 2 })).toEqual({ ...inPage, threads })
      }
      const asked = (isOwn ? server : library).requests
      expect(asked).toContain('/cdn/workers/network.worker.js')
      expect(asked.some((path) => path.startsWith('/cdn/wasm/'))).toBe(true)
      expect((isOwn ? library : server).requests.filter((path) => path.startsWith('/cdn/'))).toEqual([])
      await server.close()
      await library.close()
    })

test('a network runs in the worker of a sandboxed frame', async ({ page }) => {
  const library = await serveFolder(DIST, CROSS_ORIGIN, MODEL)
  const frame = pageOf(library.address).replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  const outer = `<!doctype html><title>App</title><iframe sandbox="allow-scripts" srcdoc="${frame}"></iframe>`
  const server = await serveFolder(DIST, {}, { '/': outer })
  await page.goto(server.address)
  const inner = page.frames()[1] as Frame
  expect(await outcome(inner, {})).toEqual(await outcome(inner, { worker: false }))
  await server.close()
  await library.close()
})

/** Computes the tanh of 2^26 numbers 120 times, which makes a step of at least 7 s. */
function longBytes(): Uint8Array {
  const to = new NodeWriter()
  let last = to.op('Expand', ['x', to.ints([1, 2 ** 26])])
  for (let at = 0; at < 120; at++) last = to.op('Tanh', [last])
  to.node('ReduceMax', [last], ['y'])
  const inputs = [{ name: 'x', type: TYPE.f32, dims: [1, 1] }]
  return modelBytes({
    nodes: to.nodes,
    constants: to.constants,
    inputs,
    outputs: [{ name: 'y', type: TYPE.f32 }],
  })
}

const LONG_PAGE = `<!doctype html><title>App</title>
<script type="module">
  import { Network } from '/cdn/network.js'
  globalThis.run = async () => {
    const limits = { steps: Infinity }
    const network = await Network.load('/long.onnx', { limits, timeLimitMs: 300, cache: 'none' })
    const x = { dtype: 'f32', dims: [1, 1], data: Float32Array.of(1) }
    const told = ({ name, code = '', message }) => name + ' ' + code + ': ' + message
    const values = [await network.run({ x }).catch(told)]
    values.push(await network.run({ x }, { timeLimitMs: 60_000 }).catch(told))
    values.push(await network.run({ x }).catch(told))
    return { values }
  }
</script>`

test('a run that exceeds its time limit is stopped with its worker', async ({ page }) => {
  const server = await serveFolder(DIST, {}, { '/': LONG_PAGE, '/long.onnx': longBytes() })
  await page.goto(server.address)
  const { values } = await outcome(page, {})
  expect(values as readonly unknown[]).toEqual([
    expect.stringContaining('TimeoutError'),
    expect.stringContaining('disposed: the worker was terminated'),
    expect.stringContaining('disposed: the worker was terminated'),
  ])
  await server.close()
})

/** Divides each number by the sum, and adds a half. */
function shareBytes(): Uint8Array {
  const to = new NodeWriter()
  const share = to.node('LpNormalization', ['x'], ['share'], { axis: 1, p: 1 })
  to.node('Add', [share, to.float(0.5)], ['y'])
  const inputs = [{ name: 'x', type: TYPE.f32, dims: [1, 3] }]
  const outputs = [{ name: 'y', type: TYPE.f32 }]
  return modelBytes({ nodes: to.nodes, constants: to.constants, inputs, outputs })
}

/** `imports`: the page's import map. */
const fallbackPage = (imports: object) => `<!doctype html><title>App</title>
<script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module">
  import { Network } from '/cdn/network.js'
  globalThis.run = async () => {
    const network = await Network.load('/share.onnx', { fallback: 'ort', worker: false, cache: 'none' })
    const { y } = await network.run({ x: { dtype: 'f32', dims: [1, 3], data: Float32Array.of(1, 2, 1) } })
    const { threads } = network
    await network.dispose()
    return { values: [...y.data], threads }
  }
</script>`

test('nodes that cannot be compiled run if an import map resolves onnxruntime-web', async ({ page }) => {
  const runtime = await serveFolder(here('../../node_modules/onnxruntime-web/dist'), CROSS_ORIGIN)
  const server = await serveFolder(DIST, ISOLATION, {
    '/': fallbackPage({ 'onnxruntime-web/wasm': `${runtime.address}ort.wasm.bundle.min.mjs` }),
    '/without': fallbackPage({}),
    '/share.onnx': shareBytes(),
  })
  await page.goto(server.address)
  expect((await outcome(page, {})).values).toEqual([0.75, 1, 0.75])
  await page.goto(`${server.address}without`)
  await expect(outcome(page, {})).rejects.toThrow(/needs the package onnxruntime-web/)
  await server.close()
  await runtime.close()
})
