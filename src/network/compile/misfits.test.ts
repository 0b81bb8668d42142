// Tests graphs that contradict themselves or the sizes of a run. In: mismatched shapes, axes named twice.
// Out: typed errors that name node and shapes, or the evaluator's results.
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import type { Attribute, Graph, Node } from '../onnx/ir/graph.ts'
import { type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { CompiledGraph } from './compiled-graph.ts'

const list = (values: readonly number[]): Tensor => tensorOf('i64', [values.length], values)

/** A graph with one node that reads constants and the input `x`, whose sizes a run chooses. */
function graphOf(
  op: string,
  constants: Readonly<Record<string, Tensor>>,
  attributes: Readonly<Record<string, Attribute>> = {},
): Graph {
  const inputs = ['x', ...Object.keys(constants)]
  const all = new Map(Object.entries(attributes))
  const node: Node = { name: op, op, domain: '', version: 20, inputs, outputs: ['y'], attributes: all }
  return {
    name: 'misfit',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims: ['rows', 'columns'] } }],
    outputs: ['y'],
    constants: new Map(Object.entries(constants)),
    nodes: [node],
  }
}

const x = tensorOf(
  'f32',
  [2, 3],
  Float32Array.from({ length: 6 }, (_, at) => at),
)
const run = async (graph: Graph) => new CompiledGraph(graph, { fuse: true }).run(new Map([['x', x]]))

test.each([
  ['Reshape', { shape: list([4, 2]) }, '6 elements cannot have the shape [4, 2]'],
  ['Add', { other: tensorOf('f32', [4], new Float32Array(4)) }, '3'],
  ['MatMul', { matrix: tensorOf('f32', [4, 2], new Float32Array(8)) }, '3'],
  ['Expand', { shape: list([2, 5]) }, '5'],
  ['Concat', { other: tensorOf('f32', [4], new Float32Array(4)) }, '[4] is not part of'],
  ['Concat', { other: tensorOf('f32', [], [1]) }, '[] is not part of'],
  ['Concat', { other: list([1, 2, 3]) }, '[3] is not part of'],
  ['Slice', { starts: list([0]), ends: list([1]), axes: list([4]) }, '4'],
])(
  '%s with mismatched sizes causes an error that names the node and the sizes',
  async (op, constants, text) => {
    const error: unknown = await run(graphOf(op, constants)).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: expect.stringMatching(/^(?:format|unsupported)$/) })
    expect(error).toMatchObject({ message: expect.stringContaining(`(${op})`) })
    expect(error).toMatchObject({ message: expect.stringContaining(text) })
  },
)

test.each([
  [tensorOf('f32', [0, 2], new Float32Array(0)), 'its inputs have 3 and 0 numbers along the summed axis'],
  [tensorOf('f32', [1, 2], new Float32Array(2)), 'its inputs have 3 and 1 numbers along the summed axis'],
  [tensorOf('f32', [5, 2], new Float32Array(10)), 'its inputs have 3 and 5 numbers along the summed axis'],
])('a matrix of %j causes an error for rows whose width a run chooses', async (matrix, text) => {
  const error: unknown = await run(graphOf('MatMul', { matrix })).catch((thrown) => thrown)
  expect(error).toMatchObject({ message: expect.stringContaining(text) })
})

test.each([
  [[0, 3], [2, 4], '0 elements cannot have the shape [2, 4]'],
  [[2, 3], [2, 0, 9], '6 elements cannot have the shape [2, 0, 9]'],
])('[%s], which is or becomes an empty tensor, cannot be reshaped to [%s]', async (from, to, text) => {
  const attributes = { allowzero: { kind: 'int', value: 1 } } as const
  const graph = graphOf('Reshape', { shape: list(to) }, attributes)
  const given = tensorOf('f32', from, new Float32Array(from[0]! * from[1]!))
  const made = new CompiledGraph(graph, { fuse: true }).run(new Map([['x', given]]))
  await expect(made).rejects.toMatchObject({ message: expect.stringContaining(text) })
})

test('a tensor too large for any memory is rejected with its number of elements', async () => {
  const graph = graphOf('Pad', { pads: list([0, 0, 2 ** 48, 0]) })
  await expect(run(graph)).rejects.toMatchObject({
    code: 'out-of-memory',
    message: expect.stringContaining('844'),
  })
})

test('an axis named twice is reduced once', async () => {
  const graph = graphOf('ReduceMax', { axes: list([1, -1]) }, { keepdims: { kind: 'int', value: 0 } })
  const wanted = evaluate(graph, new Map([['x', x]]))
  expect(await run(graph)).toEqual(wanted)
})

test('a product without rows reads nothing', async () => {
  const graph = graphOf('MatMul', { matrix: tensorOf('f32', [3, 2], new Float32Array(6)) })
  const none = tensorOf('f32', [0, 3], new Float32Array(0))
  const made = await new CompiledGraph(graph, { fuse: true }).run(new Map([['x', none]]))
  expect(made.get('y')).toMatchObject({ dims: [0, 2], data: new Float32Array(0) })
  const squared = { ...graph, nodes: graph.nodes.map((node) => ({ ...node, inputs: ['x', 'x'] })) }
  const batch: Graph = { ...squared, inputs: [{ name: 'x', type: { dtype: 'f32', dims: ['batch', 2, 2] } }] }
  const empty = tensorOf('f32', [0, 2, 2], new Float32Array(0))
  const products = await new CompiledGraph(batch, { fuse: true }).run(new Map([['x', empty]]))
  expect(products.get('y')!.dims).toEqual([0, 2, 2])
})

test('the logarithm of a sum of integers is rejected, naming its node', async () => {
  const { inputs, ...rest } = graphOf('ReduceLogSumExp', {})
  const whole: Graph = { ...rest, inputs: [{ ...inputs[0]!, type: { dtype: 'i64', dims: [2, 3] } }] }
  const given = tensorOf('i64', [2, 3], [1, 2, 3, 4, 5, 6])
  const made = new CompiledGraph(whole, { fuse: true }).run(new Map([['x', given]]))
  await expect(made).rejects.toMatchObject({ code: 'unsupported', detail: { op: 'ReduceLogSumExp' } })
})
