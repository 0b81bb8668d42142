// Target: networks. In: random graphs of the dialect, a small encoder, attention of groups and tables of
// codes as ONNX files, changed in bytes, fields or meaning. Out: how far their files are read; what is
// accepted is compiled in both builds, run, and compared with the evaluator.
import { bertBytes } from '../../../bench/graphs/bert.ts'
import { blockTable } from '../../../src/compile/testing/block-table.ts'
import { randomGraph } from '../../../src/compile/testing/random-graph.ts'
import { layer } from '../../conformance/onnx/networks/group-layer.ts'
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
/** How often one of those with operators of ONNX Runtime is drawn. */
const IS_CONTRIB = 0.1
/** One new token after three: most masks that are drawn fit them. */
const SIZES = { batch: 2, new: 1, past: 3, total: 4 }
const TABLE = { rows: 16, width: 64 }

export async function openTarget(): Promise<Target> {
  const encoder = bertBytes(ENCODER)
  const graphs = Array.from({ length: GRAPHS }, (_, index) => writtenBytes(randomGraph(SEED, index).graph))
  const contrib = [
    layer({ sizes: SIZES }),
    layer({ sizes: SIZES, isPacked: true, attributes: { local_window_size: 2 } }),
    blockTable({ ...TABLE, bits: 4, hasZeros: true }).graph,
    blockTable({ ...TABLE, bits: 8, hasZeros: false }).graph,
  ]
  return {
    draw(random) {
      const isContrib = random.chance(IS_CONTRIB)
      const good = isContrib
        ? random.pick(contrib)
        : random.chance(IS_ENCODER)
          ? encoder
          : random.pick(graphs)
      const { bytes, change } = changed(random, good, graphs)
      return { [MODEL]: bytes, change }
    },
    run: (input: Input) => compileAndCompare(bytesOf(input, MODEL), textOf(input, 'change')),
  }
}
