// Products with tiles of all sizes. In: matrices with fewer and more rows and columns than a tile, a panel,
// four panels and a block of rows. Out: whether their products, with a bias and an activation, match the
// evaluator's.
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import type { Graph } from '../onnx/ir/graph.ts'
import { CompiledGraph } from './compiled-graph.ts'
import { namedNode, text, waves } from './testing/graph-maker.ts'

/** The right matrix is a constant, or an input that may be transposed. */
function graphOf(m: number, k: number, n: number, way: 'constant' | 'input' | 'turned'): Graph {
  const dims = way === 'turned' ? [n, k] : [k, n]
  const right = waves(dims, 2)
  const b = way === 'turned' ? 'turned' : 'b'
  const input = (name: string, sizes: readonly number[]) => ({
    name,
    type: { dtype: 'f32' as const, dims: sizes },
  })
  return {
    name: 'product',
    inputs: [input('a', [m, k]), ...(way === 'constant' ? [] : [input('b', dims)])],
    outputs: ['y'],
    constants: new Map([['bias', waves([n], 3)], ...(way === 'constant' ? [['b', right] as const] : [])]),
    nodes: [
      ...(way === 'turned' ? [namedNode('Transpose', ['b'], 'turned')] : []),
      namedNode('MatMul', ['a', b], 'c'),
      namedNode('Add', ['c', 'bias'], 'd'),
      namedNode('Gelu', ['d'], 'y', new Map([['approximate', text('none')]])),
    ],
  }
}

for (const way of ['constant', 'input', 'turned'] as const)
  test(`products with a matrix that is ${way} match the evaluator's`, async () => {
    for (const m of [1, 2, 6, 7, 13, 601])
      for (const n of [1, 8, 31, 32, 70])
        for (const k of m > 600 ? [60] : [1, 5, 33]) {
          const graph = graphOf(m, k, n, way)
          const feeds = new Map(
            graph.inputs.map(({ name, type }) => [name, waves(type!.dims as number[], name === 'a' ? 1 : 2)]),
          )
          const wanted = evaluate(graph, feeds).get('y')!
          for (const fuse of [true, false]) {
            const found = (await new CompiledGraph(graph, { fuse }).run(feeds)).get('y')!
            const most = Math.max(
              ...[...wanted.data].map((value, at) => Math.abs(Number(value) - Number(found.data[at]))),
            )
            expect(most, `[${m}, ${k}] times [${k}, ${n}]`).toBeLessThan(1e-4)
          }
        }
  })
