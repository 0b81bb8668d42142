// Codes that a network computes at run time. In: graphs in which nodes other than products read the codes,
// their scale or their zero point. Out: whether outputs match the evaluator's, and, with `weights: 'f32'`,
// whether products read the floats instead.
import { expect, test } from 'vitest'
import { bufferSource } from '../../core/base/bytes.ts'
import { evaluate } from '../onnx/evaluate.ts'
import { EVALUATORS } from '../onnx/evaluators.ts'
import { type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { readModel } from '../onnx/read-model.ts'
import { NodeWriter, TYPE } from '../onnx/testing/node-writer.ts'
import { modelBytes } from '../onnx/testing/write-model.ts'
import { StagedGraph } from './staged/staged-graph.ts'

const X = tensorOf('f32', [2, 3], [1, -2, 3.25, 0.5, 5, -0.75])
const CODES = new Int8Array([1, -2, 3, 4, 5, -6])

type Named = Readonly<Record<'codes' | 'scale' | 'zero', string>>

/** `make` returns the outputs and their types. */
async function run(
  make: (g: NodeWriter, from: Named) => readonly (readonly [string, number])[],
  weights: 'auto' | 'f32' = 'auto',
  x = X,
) {
  const g = new NodeWriter()
  g.node('DynamicQuantizeLinear', ['x'], ['codes', 'scale', 'zero'])
  const outputs = make(g, { codes: 'codes', scale: 'scale', zero: 'zero' }).map(([name, type]) => ({
    name,
    type,
  }))
  const inputs = [{ name: 'x', type: TYPE.f32, dims: [2, 3] }]
  const bytes = modelBytes({ nodes: g.nodes, constants: g.constants, inputs, outputs }, 18)
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const feeds = new Map([['x', x]])
  const network = await StagedGraph.open(graph, { fuse: true, weights })
  const found = await network.run(feeds)
  const foreign = network.foreign.map(({ op }) => op)
  await network.dispose()
  return { wanted: evaluate(graph, feeds, { evaluators: EVALUATORS }), found, foreign }
}

const product = (g: NodeWriter, { codes, zero }: Named): string => {
  g.constants.push({ name: 'w', type: TYPE.i8, dims: [3, 2], raw: new Uint8Array(CODES.buffer) })
  return g.op('MatMulInteger', [codes, 'w', zero])
}

test.each<[string, Parameters<typeof run>[0]]>([
  ['the codes are an output', (_, { codes }) => [[codes, TYPE.u8]]],
  ['the zero point becomes a number', (g, { zero }) => [[g.cast(zero, 'i32'), TYPE.i32]]],
  ['the scale divides another value', (g, { scale }) => [[g.op('Div', ['x', scale]), TYPE.f32]]],
  [
    'the scale is used beside its product',
    (g, from) => {
      const sums = g.op('Mul', [g.cast(product(g, from), 'f32'), from.scale])
      return [
        [sums, TYPE.f32],
        [g.op('Add', ['x', from.scale]), TYPE.f32],
      ]
    },
  ],
  [
    'the scale is multiplied by itself',
    (g, from) => {
      const squared = g.op('Mul', [from.scale, from.scale])
      return [[g.op('Mul', [g.cast(product(g, from), 'f32'), squared]), TYPE.f32]]
    },
  ],
  [
    'a sum is multiplied by its scale twice',
    (g, from) => {
      const scaled = g.op('Mul', [g.cast(product(g, from), 'f32'), from.scale])
      return [[g.op('Mul', [from.scale, scaled]), TYPE.f32]]
    },
  ],
  [
    'a sum is multiplied by a sum',
    (g, from) => {
      const sum = g.cast(product(g, from), 'f32')
      return [[g.op('Mul', [g.op('Mul', [sum, sum]), from.scale]), TYPE.f32]]
    },
  ],
  [
    'a product does not subtract the zero point',
    (g, from) => {
      const sum = g.cast(product(g, { ...from, zero: '' }), 'f32')
      return [[g.op('Mul', [sum, from.scale]), TYPE.f32]]
    },
  ],
  ['a sum misses its scale', (g, from) => [[g.cast(product(g, from), 'f32'), TYPE.f32]]],
])('if %s, it has the values of the standard', async (_, make) => {
  for (const weights of ['auto', 'f32'] as const) {
    const { wanted, found, foreign } = await run(make, weights)
    for (const [name, { dtype, dims, data }] of wanted)
      expect(found.get(name), name).toMatchObject<Partial<Tensor>>({ dtype, dims, data })
    expect(foreign).toEqual([])
  }
})

test('many paths from the scale to one sum are followed once', async () => {
  const { wanted, found } = await run((g, from) => {
    let scale = from.scale
    for (let step = 0; step < 60; step++) scale = g.op('Mul', [scale, scale])
    return [[g.op('Mul', [g.cast(product(g, from), 'f32'), scale]), TYPE.f32]]
  }, 'f32')
  const [[name, due]] = [...wanted] as [[string, Tensor]]
  expect(found.get(name)!.data).toEqual(due.data)
})

const scaledProduct: Parameters<typeof run>[0] = (g, from) => {
  const scale = g.op('Mul', [from.scale, g.float(0.5)])
  return [[g.op('Mul', [g.cast(product(g, from), 'f32'), scale]), TYPE.f32]]
}

test('a product with its scale has rows in 8 bits, whatever the other rows are', async () => {
  const { found, foreign } = await run(scaledProduct)
  expect(foreign).toEqual([])
  const [[name, { data }]] = [...found] as [[string, Tensor]]
  const rows = [X.data.slice(0, 3), X.data.slice(3)] as Float32Array[]
  for (const [at, row] of rows.entries()) {
    // A row twice has the range of the row.
    const twice = tensorOf('f32', [2, 3], [...row, ...row])
    const { wanted, found: alone } = await run(scaledProduct, 'auto', twice)
    for (const column of [0, 1]) {
      expect(alone.get(name)!.data[column]).toBe(data[2 * at + column])
      expect(data[2 * at + column]).toBeCloseTo(Number(wanted.get(name)!.data[column]), 5)
    }
  }
})

test('with weights f32, it is computed with the floats', async () => {
  const { found, foreign } = await run(scaledProduct, 'f32')
  expect(foreign).toEqual([])
  const [[made]] = [[...found.values()]]
  const due = [0, 1, 2, 3].map((at) => {
    const [row, column] = [at >> 1, at % 2]
    return [0, 1, 2].reduce((sum, k) => sum + 0.5 * Number(X.data[3 * row + k]) * CODES[2 * k + column]!, 0)
  })
  for (const [at, value] of due.entries()) expect(made!.data[at]).toBeCloseTo(value, 5)
})

test('the lowest of no integers is the highest i64, as the evaluator has it', async () => {
  const { wanted, found } = await run((g) => {
    const none = g.op('Slice', [g.cast('x', 'i64'), g.ints([0]), g.ints([0]), g.ints([1])])
    return [[g.op('ReduceMin', [none, g.ints([1])]), TYPE.i64]]
  })
  const [[name, due]] = [...wanted] as [[string, Tensor]]
  expect(due.data[0]).toBe(2n ** 63n - 1n)
  expect(found.get(name)!.data).toEqual(due.data)
})
