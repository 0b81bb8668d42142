// Target: networks. In: random graphs of the dialect and a small encoder as ONNX files, changed in bytes,
// fields or meaning. Out: how far their files are read; what is accepted is compiled in both builds, run, and
// compared with the evaluator.
import { bertBytes } from '../../../bench/graphs/bert.ts'
import { randomGraph } from '../../../src/compile/testing/random-graph.ts'
import { bytesOf, type Input, textOf } from '../input.ts'
import { changed, writtenBytes } from '../networks/changed-graph.ts'
import { compileAndCompare } from '../networks/compare-network.ts'
import { MODEL } from '../onnx-seeds.ts'
import type { Target } from '../target.ts'

const ENCODER = { layers: 1, hidden: 8, heads: 2, intermediate: 12, vocabulary: 9, positions: 6 }
/** Graphs other than the encoder. */
const GRAPHS = 200
const SEED = 33
const IS_ENCODER = 0.1

export async function openTarget(): Promise<Target> {
  const encoder = bertBytes(ENCODER)
  const graphs = Array.from({ length: GRAPHS }, (_, index) => writtenBytes(randomGraph(SEED, index).graph))
  return {
    draw(random) {
      const good = random.chance(IS_ENCODER) ? encoder : random.pick(graphs)
      const { bytes, change } = changed(random, good, graphs)
      return { [MODEL]: bytes, change }
    },
    run: (input: Input) => compileAndCompare(bytesOf(input, MODEL), textOf(input, 'change')),
  }
}
