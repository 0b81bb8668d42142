// Tests reductions over no elements. In: a run whose reduced axis is empty, after a run that leaves numbers
// in memory. Out: whether each reduction matches the evaluator.
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import type { Graph, Node } from '../onnx/ir/graph.ts'
import { type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { CompiledGraph } from './compiled-graph.ts'

const OPS = ['ReduceSum', 'ReduceProd', 'ReduceMax', 'ReduceMin', 'ReduceMean', 'ReduceL2']

const node = (op: string): Node => ({
  ...{ name: op, op, domain: '', version: 20, inputs: ['x', 'axes'], outputs: [op] },
  attributes: new Map([['keepdims', { kind: 'int', value: 0 }]]),
})

const graph: Graph = {
  name: 'rows',
  inputs: [{ name: 'x', type: { dtype: 'f32', dims: [3, 'n'] } }],
  outputs: OPS,
  constants: new Map([['axes', tensorOf('i64', [1], [1n])]]),
  nodes: OPS.map(node),
}

test('a reduction over no elements gives the value that its operator defines', async () => {
  const compiled = new CompiledGraph(graph, { fuse: true })
  const feedsOf = (size: number): ReadonlyMap<string, Tensor> =>
    new Map([['x', tensorOf('f32', [3, size], new Float32Array(3 * size).fill(7))]])
  for (const size of [5, 0]) {
    const feeds = feedsOf(size)
    expect(await compiled.run(feeds)).toEqual(evaluate(graph, feeds))
  }
})
