// Tests numbers that JSON does not distinguish. In: a graph that uses each of them in the same expression.
// Out: whether each node gets its own number.
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import type { Graph, Node } from '../onnx/ir/graph.ts'
import { type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { CompiledGraph } from './compiled-graph.ts'

const node = (op: string, inputs: readonly string[], output: string): Node => ({
  ...{ name: output, op, domain: '', version: 17, inputs, outputs: [output] },
  attributes: new Map(),
})

test('infinities, NaN and both zeros get separate functions', async () => {
  const scalar = (value: number): Tensor => tensorOf('f32', [], [value])
  const values = [Infinity, -Infinity, Number.NaN, 0, -0]
  const graph: Graph = {
    name: 'numbers',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims: [5] } }],
    outputs: values.map((_, at) => `y ${at}`),
    constants: new Map(values.map((value, at) => [`constant ${at}`, scalar(value)])).set('two', scalar(2)),
    nodes: values.flatMap((_, at) => [
      node('Less', ['x', 'two'], `mask ${at}`),
      node('Where', [`mask ${at}`, `constant ${at}`, 'x'], `y ${at}`),
    ]),
  }
  const feeds = new Map([['x', tensorOf('f32', [5], [0, 1, 2, 3, 4])]])
  expect(await new CompiledGraph(graph, { fuse: true }).run(feeds)).toEqual(evaluate(graph, feeds))
})
