// Random graphs. In: graphs and tensors from a seed. Out: whether compiled graphs give the same results as
// the evaluator, in both builds, with each compiler stage left out, and after each graph pass.
import { expect, test } from 'vitest'
import { evaluate } from '../../../test/conformance/onnx/verify/evaluate.ts'
import type { Graph, Node } from '../onnx/ir/graph.ts'
import { type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { runPasses } from '../onnx/passes/pass.ts'
import { PASSES } from '../onnx/passes.ts'
import { CompiledGraph } from './compiled-graph.ts'
import { PARTS, STAGES } from './stages.ts'
import { roundingSpread } from './testing/conditioning.ts'
import { difference } from './testing/difference.ts'
import { randomGraph } from './testing/random-graph.ts'

/** HALFBYTE_SEED draws different graphs, HALFBYTE_GRAPHS draws more of them. */
const SEED = Number(process.env['HALFBYTE_SEED'] ?? 4)
const COUNT = Number(process.env['HALFBYTE_GRAPHS'] ?? 300)

type Outputs = ReadonlyMap<string, Tensor>

/** Each way to compute a graph, with the name that a failure reports. */
const WAYS: readonly (readonly [name: string, run: (graph: Graph, feeds: Outputs) => Promise<Outputs>])[] = [
  ['plain build', (graph, feeds) => new CompiledGraph(graph, { fuse: false }).run(feeds)],
  ['relaxed build', (graph, feeds) => new CompiledGraph(graph, { fuse: true }).run(feeds)],
  ...[...STAGES, ...PARTS].map(
    (stage) =>
      [
        `without ${stage}`,
        (graph: Graph, feeds: Outputs) =>
          new CompiledGraph(graph, { fuse: true, leftOut: new Set([stage]) }).run(feeds),
      ] as const,
  ),
  [
    'without all stages',
    (graph, feeds) => new CompiledGraph(graph, { fuse: true, leftOut: new Set(STAGES) }).run(feeds),
  ],
]

test(`compiled graphs give the evaluator's results (seed ${SEED}, ${COUNT} graphs)`, {
  timeout: 3_600_000,
}, async () => {
  const wrong: string[] = []
  const passed = new Set<string>()
  let values = 0
  for (let index = 0; index < COUNT; index++) {
    const { graph, feeds } = randomGraph(SEED, index)
    const wanted = evaluate(graph, feeds)
    let spread: ReturnType<typeof roundingSpread> | undefined
    const spreadOf = (name: string) => {
      spread ??= roundingSpread(graph, feeds)
      return spread.get(name)!
    }
    const compare = (way: string, found: Outputs): void => {
      for (const [name, tensor] of wanted) {
        const why = difference(tensor, found.get(name), () => spreadOf(name))
        if (why !== undefined) wrong.push(`graph ${index}, ${way}, ${name}: ${why}`)
        values++
      }
    }
    for (const [way, run] of WAYS) {
      const found = await run(graph, feeds).catch((error) => error as Error)
      if (found instanceof Error) wrong.push(`graph ${index}, ${way}: ${found.stack}`)
      else compare(way, found)
    }
    runPasses(graph, PASSES, {
      verify(_, after, pass) {
        passed.add(pass)
        compare(`after ${pass}`, evaluate(after, feeds))
      },
    })
  }
  expect(wrong).toEqual([])
  expect(values).toBeGreaterThan(COUNT * WAYS.length)
  // Random graphs have no branches, and their shapes are known.
  expect(passed.size).toBeGreaterThan(2)
})

test('rounding errors move a norm of nearly equal numbers far, but hardly move a sum', () => {
  const node = (op: string, inputs: readonly string[], output: string): Node => ({
    ...{ name: output, op, domain: '', version: 17, inputs, outputs: [output] },
    attributes: new Map(),
  })
  const graph: Graph = {
    name: 'norms',
    inputs: [{ name: 'x', type: { dtype: 'f32', dims: [1, 4] } }],
    constants: new Map([['one', tensorOf('f32', [4], [1, 1, 1, 1])]]),
    nodes: [node('LayerNormalization', ['x', 'one'], 'norm'), node('Add', ['x', 'one'], 'sum')],
    outputs: ['norm', 'sum'],
  }
  const x = tensorOf('f32', [1, 4], [100, 100.01, 100, 100.01])
  const spread = roundingSpread(graph, new Map([['x', x]]))
  expect(Math.max(...spread.get('norm')!)).toBeGreaterThan(1e-4)
  expect(Math.max(...spread.get('sum')!)).toBeLessThan(1e-4)
})
