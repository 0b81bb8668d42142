// Random graphs. In: graphs and tensors from a seed. Out: whether compiled graphs give what the evaluator
// gives, in both builds, without each stage of the compiler, and after each pass on graphs.
import { expect, test } from 'vitest'
import { evaluate } from '../onnx/evaluate.ts'
import type { Graph } from '../onnx/ir/graph.ts'
import type { Tensor } from '../onnx/ir/tensor.ts'
import { runPasses } from '../onnx/passes/pass.ts'
import { PASSES } from '../onnx/passes.ts'
import { CompiledGraph } from './compiled-graph.ts'
import { STAGES } from './stages.ts'
import { randomGraph } from './testing/random-graph.ts'

/** HALFBYTE_SEED and HALFBYTE_GRAPHS draw other graphs, and more. */
const SEED = Number(process.env['HALFBYTE_SEED'] ?? 4)
const COUNT = Number(process.env['HALFBYTE_GRAPHS'] ?? 150)

/** The evaluator adds up in f64 and its functions are exact; sums of f32 differ by their roundings. */
const TOLERANCE = 2e-4

type Outputs = ReadonlyMap<string, Tensor>

function difference(wanted: Tensor, found: Tensor | undefined): string | undefined {
  if (`${found?.dims}` !== `${wanted.dims}`) return `dims [${found?.dims}] instead of [${wanted.dims}]`
  for (let at = 0; at < wanted.data.length; at++) {
    const [a, b] = [Number(wanted.data[at]), Number(found!.data[at])]
    const isSame = Object.is(a, b) || a === b || Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a))
    if (!isSame) return `${b} instead of ${a} at ${at}`
  }
  return undefined
}

/** Each way to compute a graph, with the name by which a failure tells it. */
const WAYS: readonly (readonly [name: string, run: (graph: Graph, feeds: Outputs) => Promise<Outputs>])[] = [
  ['plain build', (graph, feeds) => new CompiledGraph(graph, { fuse: false }).run(feeds)],
  ['relaxed build', (graph, feeds) => new CompiledGraph(graph, { fuse: true }).run(feeds)],
  ...STAGES.map(
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

test(`compiled graphs give what the evaluator gives (seed ${SEED}, ${COUNT} graphs)`, {
  timeout: 3_600_000,
}, async () => {
  const wrong: string[] = []
  const passed = new Set<string>()
  let values = 0
  for (let index = 0; index < COUNT; index++) {
    const { graph, feeds } = randomGraph(SEED, index)
    const wanted = evaluate(graph, feeds)
    const compare = (way: string, found: Outputs): void => {
      for (const [name, tensor] of wanted) {
        const why = difference(tensor, found.get(name))
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
  expect(passed.size).toBeGreaterThan(3)
})
