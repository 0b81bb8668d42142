// Networks with nodes that cannot be compiled, in Chromium. In: a small graph with LpNormalization and
// NonZero, in the page and in a worker, isolated and not, under a strict policy. Out: the outputs, the
// reported nodes, and which files are downloaded only on request.

import { expect, type Page } from '@playwright/test'
import { NodeWriter, TYPE } from '../../src/network/onnx/testing/node-writer.ts'
import { modelBytes } from '../../src/network/onnx/testing/write-model.ts'
import { openLibrary, test } from '../library-site.ts'
import { blocked, watchPolicy } from '../policy.ts'

/** Each row divided by its sum and doubled, and the nonzero positions. */
function file(): File {
  const to = new NodeWriter()
  to.node('LpNormalization', [to.op('Relu', ['x'])], ['share'], { axis: 1, p: 1 })
  to.node('Add', ['share', 'share'], ['y'])
  to.node('NonZero', ['y'], ['places'])
  const bytes = modelBytes({
    nodes: to.nodes,
    constants: to.constants,
    inputs: [{ name: 'x', type: TYPE.f32, dims: ['rows', 3] }],
    outputs: [
      { name: 'y', type: TYPE.f32 },
      { name: 'places', type: TYPE.i64 },
    ],
  })
  return new File([new Uint8Array(bytes)], 'share.onnx')
}

type Options = NonNullable<Parameters<typeof networks.load>[1]>

const outcome = (page: Page, model: string, options: Options) =>
  page.evaluate(
    async ({ model, options }) => {
      const network = await networks.load(model, { ...options, cache: 'none' })
      const x = { dtype: 'f32' as const, dims: [2, 3], data: Float32Array.of(1, -1, 3, -2, 5, -4) }
      const { y, places } = await network.run({ x })
      const told = network.foreignNodes().map(({ op }) => op)
      const { threads } = network
      await network.dispose()
      return { y: [...y!.data], places: Array.from(places!.data, Number), dims: places!.dims, told, threads }
    },
    { model, options },
  )

const EXPECTED = {
  y: [0.5, 0, 1.5, 0, 2, 0],
  places: [0, 0, 1, 0, 2, 1],
  dims: [2, 3],
  told: ['LpNormalization', 'NonZero'],
  threads: 1,
}

test('nodes that cannot be compiled run in the page, in a worker and on two threads', async ({
  page,
  site,
}) => {
  const model = await site.add(file())
  const asked: string[] = []
  page.context().on('request', (request) => asked.push(request.url()))
  await openLibrary(page, site.isolated)
  const isPart = (address: string) => /sessions|ort[.-]wasm/.test(address)
  expect(await outcome(page, model, {})).toEqual(EXPECTED)
  expect(await outcome(page, model, { worker: true })).toEqual(EXPECTED)
  expect(asked.filter(isPart)).toEqual([])
  expect(await outcome(page, model, { fallback: 'ort' })).toEqual(EXPECTED)
  expect(asked.filter(isPart).some((address) => address.endsWith('.wasm'))).toBe(true)
  expect(await outcome(page, model, { fallback: 'ort', worker: true })).toEqual(EXPECTED)
  expect(await outcome(page, model, { fallback: 'ort', threads: 2 })).toEqual({ ...EXPECTED, threads: 2 })
})

test('the error for a missing .wasm file of onnxruntime-web names it', async ({ page, site }) => {
  const model = await site.add(file())
  await page.context().route(/ort-wasm.*\.wasm/, (route) => route.fulfill({ status: 404 }))
  await openLibrary(page, site.isolated)
  const why = await page.evaluate(
    (model) =>
      networks.load(model, { fallback: 'ort', cache: 'none' }).then(
        () => 'no error',
        ({ code, message }) => `${code}: ${message}`,
      ),
    model,
  )
  expect(why).toMatch(
    /^network: onnxruntime-web did not start: .*; check that its \.wasm file is in the build/,
  )
})

test('it works in a page that is not isolated, and under a strict policy', async ({ page, site }) => {
  const model = await site.add(file())
  await openLibrary(page, site.plain)
  expect(await outcome(page, model, { fallback: 'ort' })).toEqual(EXPECTED)
  await watchPolicy(page)
  await openLibrary(page, await site.under("default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"))
  expect(await outcome(page, model, { fallback: 'ort' })).toEqual(EXPECTED)
  expect(await outcome(page, model, { fallback: 'ort', worker: true })).toEqual(EXPECTED)
  expect(await blocked(page)).toEqual([])
})
