// Tests grouped convolutions. In: a convolution whose output another node reads with one more axis. Out:
// whether the graph gives the same results as the evaluator.
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import type { Graph, Node } from '../onnx/ir/graph.ts'
import { countOf, tensorOf } from '../onnx/ir/tensor.ts'
import { CompiledGraph } from './compiled-graph.ts'
import { int } from './testing/graph-maker.ts'

const floats = (dims: readonly number[]) =>
  tensorOf(
    'f32',
    dims,
    Float32Array.from({ length: countOf(dims) }, (_, at) => Math.sin(at * at)),
  )

const node = (op: string, inputs: readonly string[], attributes: Node['attributes'] = new Map()): Node => ({
  ...{ name: op, op, domain: '', version: 20, inputs, outputs: [op], attributes },
})

test('a node after a grouped convolution may have one more axis', async () => {
  const dims = [2, 8, 5, 7]
  const graph: Graph = {
    name: 'groups',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims } }],
    outputs: ['Tanh'],
    constants: new Map([
      ['filters', floats([2, 4, 3, 2])],
      ['sizes', tensorOf('i64', [5], [1n, 2n, 2n, 3n, 6n])],
    ]),
    nodes: [
      node('Conv', ['x', 'filters'], new Map([['group', int(2)]])),
      node('Expand', ['Conv', 'sizes']),
      node('Tanh', ['Expand']),
    ],
  }
  const feeds = new Map([['x', floats(dims)]])
  const wanted = evaluate(graph, feeds).get('Tanh')!
  const found = (await new CompiledGraph(graph, { fuse: true }).run(feeds)).get('Tanh')!
  expect(found.dims).toEqual(wanted.dims)
  for (const [at, value] of wanted.data.entries())
    expect(Math.abs(Number(found.data[at]) - Number(value))).toBeLessThan(1e-5)
})
