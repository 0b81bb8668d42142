// Merged nodes. In: products with sums and transposes, GELU in primitive operators, casts of casts. Out:
// whether they become one node with the same outputs, and whether lookalikes are unchanged.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../test/conformance/onnx/verify/evaluate.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { floatToHalf } from '../../../core/base/half.ts'
import type { Graph } from '../ir/graph.ts'
import { type Tensor, tensorOf } from '../ir/tensor.ts'
import { PASSES } from '../passes.ts'
import { readModel } from '../read-model.ts'
import { modelBytes, type WrittenGraph } from '../testing/write-model.ts'
import { runPasses } from './pass.ts'

const F32 = 1
const number = (name: string, value: number) => ({
  name,
  type: F32,
  dims: [],
  raw: new Uint8Array(Float32Array.of(value).buffer),
})
const matrix = (dims: readonly number[], seed: number): Tensor =>
  tensorOf(
    'f32',
    dims,
    Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, at) => Math.sin(seed + 3 * at)),
  )

/** The remaining operators, after checking that both graphs agree to this many digits. */
async function left(
  graph: WrittenGraph,
  feeds: Readonly<Record<string, Tensor>>,
  digits = 5,
): Promise<string[]> {
  const read = (await readModel(bufferSource('model.onnx', modelBytes(graph, 17)))).graph
  const typed: Graph = {
    ...read,
    inputs: read.inputs.map(({ name }) => ({
      name,
      type: { dtype: feeds[name]!.dtype, dims: feeds[name]!.dims },
    })),
  }
  const after = runPasses(typed, PASSES).graph
  const given = new Map(Object.entries(feeds))
  const expected = evaluate(typed, given)
  const found = evaluate(after, given)
  for (const [name, { dims, data }] of expected) {
    expect(found.get(name)?.dims).toEqual(dims)
    for (const [at, value] of [...(data as Float32Array)].entries())
      expect(Number(found.get(name)?.data[at])).toBeCloseTo(Number(value), digits)
  }
  return after.nodes.map(({ op }) => op)
}

const node = (op: string, inputs: readonly string[], output: string) => ({ op, inputs, outputs: [output] })
const MATRICES = { a: matrix([2, 3], 1), b: matrix([3, 4], 2), c: matrix([4], 3) }

test('a product and its addend become one Gemm', async () => {
  const sum = [node('MatMul', ['a', 'b'], 'p'), node('Add', ['c', 'p'], 'y')]
  expect(await left({ nodes: sum, inputs: ['a', 'b', 'c'], outputs: ['y'] }, MATRICES)).toEqual(['Gemm'])
  const large = { ...MATRICES, c: matrix([5, 2, 4], 3) }
  expect(await left({ nodes: sum, inputs: ['a', 'b', 'c'], outputs: ['y'] }, large)).toEqual([
    'MatMul',
    'Add',
  ])
  expect(await left({ nodes: sum, inputs: ['a', 'b', 'c'], outputs: ['y', 'p'] }, MATRICES)).toHaveLength(2)
})

test('a Gemm absorbs transposes of its operands and of its result', async () => {
  const nodes = [
    node('Transpose', ['u'], 'a'),
    node('Transpose', ['v'], 'b'),
    node('Gemm', ['a', 'b'], 'p'),
    node('Transpose', ['p'], 'y'),
  ]
  const feeds = { u: matrix([3, 2], 1), v: matrix([4, 3], 2) }
  expect(await left({ nodes, inputs: ['u', 'v'], outputs: ['y'] }, feeds)).toEqual(['Gemm'])
})

const ERF = [
  node('Div', ['x', 'root'], 's'),
  node('Erf', ['s'], 'e'),
  node('Add', ['e', 'one'], 'f'),
  node('Mul', ['x', 'f'], 'g'),
  node('Mul', ['g', 'half'], 'y'),
]
const CONSTANTS = [number('root', Math.SQRT2), number('one', 1), number('half', 0.5)]
const X = { x: matrix([2, 5], 4) }

test('GELU by erf becomes one node, unless a constant differs', async () => {
  const graph = { nodes: ERF, constants: CONSTANTS, inputs: ['x'], outputs: ['y'] }
  expect(await left(graph, X)).toEqual(['Gelu'])
  const other = { ...graph, constants: [number('root', 1.3), ...CONSTANTS.slice(1)] }
  expect(await left(other, X)).toHaveLength(5)
})

const TANH = [
  node('Mul', ['x', 'x'], 'square'),
  node('Mul', ['x', 'square'], 'cube'),
  node('Mul', ['small', 'cube'], 'term'),
  node('Add', ['x', 'term'], 'sum'),
  node('Mul', ['outer', 'sum'], 'inner'),
  node('Tanh', ['inner'], 't'),
  node('Add', ['one', 't'], 'f'),
  node('Mul', ['x', 'f'], 'g'),
  node('Mul', ['half', 'g'], 'y'),
]

const half = (name: string, value: number) => ({
  name,
  type: 10,
  dims: [],
  raw: new Uint8Array(Uint16Array.of(floatToHalf(value)).buffer),
})

test('GELU in f16, with rounded constants, becomes one node, unless a constant differs', async () => {
  const rest = [half('one', 1), half('half', 0.5), half('outer', Math.sqrt(2 / Math.PI))]
  const wanted = { nodes: TANH, inputs: ['x'], outputs: ['y'] }
  const x = tensorOf('f16', [2, 5], [...matrix([2, 5], 4).data].map(Number).map(Math.fround))
  const rounded = { ...wanted, constants: [half('small', 0.044715), ...rest] }
  expect(await left(rounded, { x }, 3)).toEqual(['Gelu'])
  const other = { ...wanted, constants: [half('small', 0.0448), ...rest] }
  expect(await left(other, { x }, 3)).toHaveLength(TANH.length)
})

test('GELU becomes one node even if its input is a product, such as a product of codes', async () => {
  const scaled = { nodes: [node('Mul', ['codes', 'scale'], 'x')], inputs: ['codes', 'scale'], outputs: ['y'] }
  const feeds = { codes: matrix([2, 5], 4), scale: matrix([1], 1) }
  const tanh = [...CONSTANTS, number('small', 0.044715), number('outer', Math.sqrt(2 / Math.PI))]
  for (const [nodes, constants] of [
    [ERF, CONSTANTS],
    [TANH, tanh],
  ] as const) {
    const graph = { ...scaled, nodes: [...scaled.nodes, ...nodes], constants }
    expect(await left(graph, feeds)).toEqual(['Mul', 'Gelu'])
  }
})

test('the search of a chain whose factors double with every node terminates', async () => {
  const nodes = Array.from({ length: 60 }, (_, at) =>
    node('Mul', [at === 0 ? 'x' : `m${at}`, at === 0 ? 'x' : `m${at}`], `m${at + 1}`),
  )
  const small = { x: tensorOf('f32', [1], [1]) }
  expect(await left({ nodes, inputs: ['x'], outputs: ['m60'] }, small)).toHaveLength(60)
})
