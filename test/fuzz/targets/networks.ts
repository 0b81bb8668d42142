// Target: networks. In: random graphs of the dialect, a small encoder, group-query attention and tables of
// codes as ONNX files, with changed bytes, fields or semantics, and graphs that need much memory. Out: how
// far the reader gets. Accepted graphs are compiled in both builds, run, and compared with the evaluator.
import { bertBytes } from '../../../lab/bench/graphs/bert.ts'
import { blockTable } from '../../../src/network/compile/testing/block-table.ts'
import { BOMBS, type BombName, LARGEST } from '../../../src/network/compile/testing/bombs.ts'
import { randomGraph } from '../../../src/network/compile/testing/random-graph.ts'
import { layer } from '../../conformance/onnx/networks/group-layer.ts'
import type { Random } from '../../helpers/random.ts'
import { bytesOf, type Input, textOf } from '../input.ts'
import { mutateProto } from '../mutate/mutate-proto.ts'
import { changed, writtenBytes } from '../networks/changed-graph.ts'
import { compileAndCompare } from '../networks/compare-network.ts'
import { MODEL } from '../onnx-seeds.ts'
import type { Target } from '../target.ts'

const ENCODER = { layers: 1, hidden: 8, heads: 2, intermediate: 12, vocabulary: 9, positions: 6 }
/** Graphs other than the encoder. */
const GRAPHS = 200
const SEED = 33
const IS_ENCODER = 0.1
/** Share of graphs that need much memory, half of them unchanged, and the maximum that they may need. */
const IS_BOMB = 0.1
const MAX_BITS = 33
/** Share of graphs with ONNX Runtime's operators. */
const IS_CONTRIB = 0.1
/** One new token after three, which fits most random masks. */
const SIZES = { batch: 2, new: 1, past: 3, total: 4 }
const TABLE = { rows: 16, width: 64 }

function bomb(random: Random, donors: readonly Uint8Array[]): Input {
  const name = random.pick(Object.keys(BOMBS) as BombName[])
  const most = LARGEST[name] ?? 2 ** MAX_BITS
  const n = 2 + Math.floor(2 ** (random.unit() * Math.log2(most - 1)))
  const bytes = writtenBytes(BOMBS[name](n))
  const change = `${name}, ${n}`
  if (random.chance(0.5)) return { [MODEL]: bytes, change }
  return { [MODEL]: mutateProto(random, bytes, donors), change: `${change}, fields` }
}

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
      if (random.chance(IS_BOMB)) return bomb(random, graphs)
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
