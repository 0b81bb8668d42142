// Bombs. In: small graphs that need a lot of time or memory. Out: whether the limits reject each one before
// it is planned or run, and whether those within the limits are computed correctly.
import { expect, test } from 'vitest'
import { bertBytes, MINILM } from '../../../lab/bench/graphs/bert.ts'
import { bufferSource } from '../../core/base/bytes.ts'
import { type NetworkLimits, ProgramBudget } from '../onnx/graph-budget.ts'
import type { Graph } from '../onnx/ir/graph.ts'
import { countOf, tensorOf } from '../onnx/ir/tensor.ts'
import { readModel } from '../onnx/read-model.ts'
import { CompiledGraph, programFor } from './compiled-graph.ts'
import { BOMBS, type BombName } from './testing/bombs.ts'

/** The integers, starting at 0. */
async function run(graph: Graph, limits?: NetworkLimits) {
  const dims = graph.inputs[0]!.type!.dims as number[]
  const x = tensorOf(
    'f32',
    dims,
    Float32Array.from({ length: countOf(dims) }, (_, at) => at % 7),
  )
  return new CompiledGraph(graph, { fuse: true, limits }).run(new Map([['x', x]]))
}

const beyond = (limit: keyof NetworkLimits) => ({ code: 'out-of-memory', detail: { limit } })

test.each<[BombName, number, keyof NetworkLimits]>([
  ['resized places', 4e9, 'planning'],
  ['nearest places', 1.2e9, 'planning'],
  ['resized empty positions', 2e8, 'planning'],
  ['taps of one position', 100_000, 'planning'],
  ['a one-hot row of many', 2 ** 31, 'planning'],
  ['places apart', 4096, 'bytes'],
  ['a wide border', 2 ** 27, 'bytes'],
  ['repeats', 2 ** 26, 'bytes'],
  ['a product of repeated rows', 2 ** 14, 'bytes'],
  ['a product of repeated rows', 11_000, 'steps'],
  ['a sum of repeated rows', 2 ** 19, 'steps'],
  ['a value that doubles', 24, 'bytes'],
  ['many parts', 100_000, 'planning'],
])('%s (%d) exceed the limit of %s', async (name, n, limit) => {
  await expect(run(BOMBS[name](n))).rejects.toMatchObject(beyond(limit))
})

test('nested loops exceed the unrolling limit, and rejecting them is cheap', async () => {
  await expect(run(BOMBS['nested loops'](60), { planning: 2 ** 25 })).rejects.toMatchObject({
    code: expect.stringMatching(/^(?:unsupported|out-of-memory)$/),
  })
})

test('a sum of many inputs is rejected, naming it', async () => {
  await expect(run(BOMBS['a sum of many inputs'](20_000))).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('20000 inputs'),
  })
})

test('a long window is one loop', async () => {
  const n = 100_000
  const mean = (await run(BOMBS['a mean of a long window'](n))).get('y')!
  let sum = 0
  for (let at = 0; at < n; at++) sum += at % 7
  expect(Number(mean.data[0])).toBeCloseTo(sum / n, 3)
  const largest = (await run(BOMBS['the largest of a long window'](n))).get('y')!
  expect([...largest.data]).toEqual([6, 6, 6, 6])
})

test.each(['a chain', 'a chain of views', 'a value that is added to itself'] as const)(
  '%s of 4000 nodes runs',
  async (name) => {
    const { dims, data } = (await run(BOMBS[name](4000))).get('y')!
    expect(dims).toEqual([1, 1, 4, 4])
    expect(Number(data[0])).toBe(0)
  },
)

test('a chain of 50,000 nodes is computed, or rejected by a limit', async () => {
  const graph = BOMBS['a chain'](50_000)
  const shapes = new Map([['x', [1, 1, 4, 4]]])
  const budget = new ProgramBudget({ planning: Infinity })
  const { program } = programFor(graph, shapes, 'f32', new Set(['passes']), budget)
  // Emitting a function must not overflow a thread's stack.
  expect(program.steps.length).toBeGreaterThan(300)
  await expect(run(graph, { planning: 2 ** 24 })).rejects.toMatchObject(beyond('planning'))
})

test('tensors that share a place in a file are counted once they exceed its size', async () => {
  const source = bufferSource('weights', new Uint8Array(2 ** 20))
  const stored = { dtype: 'f32', dims: [2 ** 18], source, offset: 0, byteLength: 2 ** 20 } as const
  const names = Array.from({ length: 20 }, (_, at) => `w${at}`)
  const graph: Graph = {
    ...BOMBS['a chain'](1),
    constants: new Map(names.map((name) => [name, stored])),
    nodes: names.map((name, at) => ({
      ...BOMBS['a chain'](1).nodes[0]!,
      ...{
        name,
        op: 'Add',
        inputs: [at === 0 ? 'x' : `v${at - 1}`, name],
        outputs: [at === 19 ? 'y' : `v${at}`],
      },
    })),
    inputs: [{ name: 'x', type: { dtype: 'f32', dims: [1] } }],
  }
  await expect(run(graph, { bytes: 10 * 2 ** 20 })).rejects.toMatchObject(beyond('bytes'))
  expect((await run(graph, { bytes: 40 * 2 ** 20 })).get('y')!.dims).toEqual([2 ** 18])
})

test('raising a limit lets a graph run', async () => {
  const graph = BOMBS['a wide border'](1000)
  await expect(run(graph, { bytes: 2 ** 15 })).rejects.toMatchObject(beyond('bytes'))
  await expect(run(graph, { steps: 1000 })).rejects.toMatchObject(beyond('steps'))
  expect((await run(graph)).get('y')?.dims).toEqual([1001, 1, 4, 4])
  expect((await run(graph, { bytes: Infinity, steps: Infinity, planning: Infinity })).size).toBe(1)
})

test('an encoder takes less than a tenth of each limit', async () => {
  const { graph } = await readModel(bufferSource('bert.onnx', bertBytes(MINILM)))
  const shapes = new Map(graph.inputs.map(({ name }) => [name, [8, 128]]))
  const budget = new ProgramBudget()
  const { program } = programFor(graph, shapes, 'f32', new Set(), budget)
  expect(budget.spentUnits).toBeLessThan(2 ** 27 / 10)
  expect(program.arenaBytes).toBeLessThan(2 ** 29 / 10)
  const taken = program.steps.reduce((sum, step) => sum + step.taken, 0)
  // 6 layers with 10.6 million multiplications per token, plus attention.
  expect(taken).toBeGreaterThan(8 * 128 * 10e6)
  expect(taken).toBeLessThan(2 ** 40 / 10)
})
