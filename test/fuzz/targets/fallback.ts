// Target: fallback. In: random graphs of the dialect with nodes that cannot be compiled, as ONNX files, half
// of them with changed bytes, fields or semantics. Out: how far the reader gets with `fallback: 'ort'`.
// Graphs that run are compared with the evaluator.
import { refusalOf } from '../../../src/network/compile/lower/lower.ts'
import { randomGraph } from '../../../src/network/compile/testing/random-graph.ts'
import { bytesOf, type Input, textOf } from '../input.ts'
import { changed, writtenBytes } from '../networks/changed-graph.ts'
import { mixAndCompare, type Sizes, UNCHANGED } from '../networks/compare-network.ts'
import { FOREIGN, FOREIGN_STEPS } from '../networks/foreign-steps.ts'
import { MODEL } from '../onnx-seeds.ts'
import type { Target } from '../target.ts'

/** Number of graphs to change. */
const GRAPHS = 200
const SEED = 34
const IS_UNCHANGED = 0.5
/** Seeds of unchanged graphs. */
const SEEDS = 2 ** 31

export async function openTarget(): Promise<Target> {
  const compiled = FOREIGN.filter((op) => refusalOf(nodeOf(op), new Map()) === undefined)
  if (compiled.length > 0) throw new Error(`${compiled.join()} can now be compiled; choose other operators`)
  const graphs = Array.from({ length: GRAPHS }, (_, index) =>
    writtenBytes(randomGraph(SEED, index, FOREIGN_STEPS).graph),
  )
  return {
    draw(random) {
      if (random.chance(IS_UNCHANGED)) {
        const { graph, feeds } = randomGraph(random.below(SEEDS), 0, FOREIGN_STEPS)
        const sizes = Object.fromEntries([...feeds].map(([name, { dims }]) => [name, dims]))
        return { [MODEL]: writtenBytes(graph), change: UNCHANGED, sizes: JSON.stringify(sizes) }
      }
      const { bytes, change } = changed(random, random.pick(graphs), graphs)
      return { [MODEL]: bytes, change, sizes: '{}' }
    },
    run: (input: Input) =>
      mixAndCompare(
        bytesOf(input, MODEL),
        textOf(input, 'change'),
        JSON.parse(textOf(input, 'sizes')) as Sizes,
      ),
  }
}

const nodeOf = (op: string) => ({
  name: op,
  op,
  domain: '' as const,
  version: 23,
  inputs: ['x'],
  outputs: ['y'],
  attributes: new Map(),
})
