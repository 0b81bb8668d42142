// Rounded biases of sums of codes. In: a convolution as ONNX Runtime's quantiser writes it. Out: the same
// outputs up to the rounding, compiled as one convolution of floats.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../../test/conformance/onnx/verify/evaluate.ts'
import { Random } from '../../../../../test/helpers/random.ts'
import { CompiledGraph } from '../../../compile/compiled-graph.ts'
import type { Graph, Node } from '../../ir/graph.ts'
import { countOf, type Tensor, tensorOf } from '../../ir/tensor.ts'
import { floatBiases } from './biases.ts'

const random = new Random(5)
const tensor = (dtype: Tensor['dtype'], dims: readonly number[], of: () => number): Tensor =>
  tensorOf(dtype, dims, Array.from({ length: countOf(dims) }, of))
const X = tensor('f32', [1, 3, 6, 7], () => random.signed())

function node(
  op: string,
  inputs: string[],
  outputs: string[],
  attributes: Node['attributes'] = new Map(),
): Node {
  return { name: outputs[0]!, op, domain: '', version: 13, inputs, outputs, attributes }
}
const to = (type: number): Node['attributes'] => new Map([['to', { kind: 'int', value: type }]])

const graphOf = (more: Node[] = [], outputs = ['y']): Graph => ({
  name: 'coded',
  inputs: [{ name: 'x', type: { dtype: 'f32', dims: X.dims } }],
  outputs,
  constants: new Map([
    ['w', tensor('u8', [4, 3, 3, 3], () => random.below(256))],
    ['zero', tensorOf('u8', [], [131])],
    ['scale', tensorOf('f32', [], [0.01])],
    ['bias', tensor('f32', [4], () => 3 * random.signed())],
    ['shape', tensorOf('i64', [4], [1, -1, 1, 1])],
  ]),
  nodes: [
    node('DynamicQuantizeLinear', ['x'], ['codes', 'xs', 'xz']),
    node('Mul', ['xs', 'scale'], ['both']),
    node('Div', ['bias', 'both'], ['divided']),
    node('Floor', ['divided'], ['floored']),
    node('Cast', ['floored'], ['rounded'], to(6)),
    node('ConvInteger', ['codes', 'w', 'xz', 'zero'], ['sums']),
    node('Reshape', ['rounded', 'shape'], ['shaped']),
    node('Add', ['sums', 'shaped'], ['added']),
    node('Cast', ['added'], ['floats'], to(1)),
    node('Mul', ['scale', 'xs'], ['again']),
    node('Mul', ['floats', 'again'], ['y']),
    ...more,
  ],
})

const differenceOf = (found: Tensor, wanted: Tensor): number =>
  Math.max(...[...wanted.data].map((value, at) => Math.abs(Number(value) - Number(found.data[at]))))

test('a rounded bias is added after the scales, within one step of the scales', () => {
  const graph = graphOf()
  const made = floatBiases.run(graph)
  const feeds = new Map([['x', X]])
  const step = 0.01 * (2 / 255)
  const difference = differenceOf(evaluate(made, feeds).get('y')!, evaluate(graph, feeds).get('y')!)
  expect(difference).toBeGreaterThan(0)
  expect(difference).toBeLessThanOrEqual(1.01 * step)
})

test('the convolution compiles, without codes', async () => {
  const feeds = new Map([['x', X]])
  const graph = graphOf()
  const found = (await new CompiledGraph(graph, { fuse: true }).run(feeds)).get('y')!
  // Rounding 27 inputs moves a sum by at most half a step of each.
  const most = 27 * 0.01 * 131 * (1 / 255) + 0.01
  expect(differenceOf(found, evaluate(graph, feeds).get('y')!)).toBeLessThan(most)
})

test('a sum of codes that another node reads is not changed', () => {
  for (const name of ['sums', 'added', 'floats']) {
    const graph = graphOf([], ['y', name])
    expect(floatBiases.run(graph)).toBe(graph)
  }
  const read = graphOf([node('Neg', ['added'], ['z'])], ['y', 'z'])
  expect(floatBiases.run(read)).toBe(read)
})
