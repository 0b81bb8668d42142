// Sinking concatenations below arithmetic. In: rotations and other concatenations followed by arithmetic.
// Out: whether values are unchanged, and whether arithmetic moves to the parts if and only if a part would
// otherwise be copied.
import { expect, test } from 'vitest'
import { evaluate } from '../../../../test/conformance/onnx/verify/evaluate.ts'
import type { Graph, Node } from '../ir/graph.ts'
import { countOf, tensorOf } from '../ir/tensor.ts'
import { sinkJoins } from './sink.ts'

const floats = (dims: readonly number[], seed = 1) =>
  tensorOf(
    'f32',
    dims,
    Float32Array.from({ length: countOf(dims) }, (_, at) => Math.sin(seed + at * at)),
  )
const list = (value: number) => tensorOf('i64', [1], [BigInt(value)])

const node = (op: string, inputs: readonly string[], output: string, axis?: number): Node => ({
  name: output,
  op,
  domain: '',
  version: 17,
  inputs,
  outputs: [output],
  attributes: new Map(axis === undefined ? [] : [['axis', { kind: 'int', value: axis }]]),
})
const half = (from: string, to: string, output: string) =>
  node('Slice', ['x', from, to, 'axis', 'step'], output)

const constants: Graph['constants'] = new Map([
  ...[0, 3, 6].map((value) => [`at ${value}`, list(value)] as const),
  ...[['axis', list(-1)] as const, ['step', list(1)] as const],
  ...[
    ['cos', floats([4, 6], 3)] as const,
    ['sin', floats([4, 6], 5)] as const,
    ['row', floats([4, 1], 7)] as const,
  ],
])

/** x cos + (-x2, x1) sin, as exporters write a rotation; then `after`. */
const rotation = (after: readonly Node[], outputs = ['y']): Graph => ({
  name: 'rotation',
  inputs: [{ name: 'x', type: { dtype: 'f32', dims: [2, 4, 6] } }],
  outputs,
  constants,
  nodes: [
    node('Mul', ['x', 'cos'], 'turned'),
    half('at 0', 'at 3', 'x1'),
    half('at 3', 'at 6', 'x2'),
    node('Neg', ['x2'], 'minus'),
    node('Concat', ['minus', 'x1'], 'swapped', -1),
    node('Mul', ['swapped', 'sin'], 'sines'),
    ...after,
  ],
})

const x = floats([2, 4, 6], 9)
const opsOf = ({ nodes }: Graph) => nodes.map(({ op }) => op)

function same(graph: Graph, sunk: Graph): void {
  const [wanted, found] = [graph, sunk].map((each) => evaluate(each, new Map([['x', x]])))
  expect([...found!.keys()]).toEqual([...wanted!.keys()])
  for (const [name, { data }] of wanted!) expect(found!.get(name)?.data).toEqual(data)
}

test('a rotation is computed half by half and concatenated last', () => {
  const graph = rotation([node('Add', ['turned', 'sines'], 'sum'), node('Mul', ['sum', 'row'], 'y')])
  const sunk = sinkJoins.run(graph)
  same(graph, sunk)
  expect(opsOf(sunk).filter((op) => op === 'Concat')).toHaveLength(1)
  expect(opsOf(sunk).at(-1)).toBe('Concat')
  // A value that is constant along the axis is not split; the other operand of the sum is computed in halves
  // too.
  expect(sunk.nodes.filter(({ op, inputs }) => op === 'Slice' && inputs[0] === 'row')).toEqual([])
  expect(sunk.nodes.filter(({ op, inputs }) => op === 'Mul' && inputs[1] === 'cos')).toHaveLength(1)
  expect(sunk.nodes.filter(({ op, inputs }) => op === 'Slice' && inputs[0] === 'cos')).toHaveLength(2)
})

test('a concatenation that has other readers or is an output stays in place', () => {
  const sum = node('Add', ['turned', 'sines'], 'y')
  for (const graph of [
    rotation([sum, node('Tanh', ['swapped'], 'z')], ['y', 'z']),
    rotation([sum], ['y', 'swapped']),
  ])
    expect(sinkJoins.run(graph)).toBe(graph)
  // The sum is an output, so the last product is not part of it.
  const graph = rotation([sum, node('Mul', ['y', 'row'], 'z')], ['y', 'z'])
  const sunk = sinkJoins.run(graph)
  same(graph, sunk)
  expect(opsOf(sunk).slice(-2)).toEqual(['Concat', 'Mul'])
})

test('a concatenation of computed parts stays, because their producers write them in place', () => {
  const { nodes, ...rest } = rotation([])
  const computed = nodes.map((each) =>
    each.op === 'Concat' ? { ...each, inputs: ['minus', 'minus'] } : each,
  )
  const graph = { ...rest, nodes: [...computed, node('Add', ['turned', 'sines'], 'y')] }
  expect(sinkJoins.run(graph)).toBe(graph)
})
