// Slab layout. In: a graph. Out: where each recurrent layer's state lies in a sequence's slab.
import { roundUp } from '../../abi/encodings.ts'
import type { WeightRef } from '../ir.ts'
import type { Graph, Node } from '../nodes.ts'
import type { PoolLayout, StateRun } from './plan.ts'

/** The byte offset of each recurrent node's f32 state in a sequence's slab, and the slab's layout. */
export interface SlabLayout {
  readonly offsets: ReadonlyMap<Node, number>
  readonly pool: PoolLayout
}

const CACHE_LINE = 64

/** Each node's state begins at a cache line, in node order. */
export function slabLayout({ nodes }: Graph): SlabLayout {
  const offsets = new Map<Node, number>()
  const runs: StateRun[] = []
  let [bytes, wholeBytes] = [0, 0]
  for (const node of nodes) {
    const state = recurrentState(node)
    const part = state?.rows.parts[0]
    if (state === undefined || part === undefined) continue
    offsets.set(node, bytes)
    const { whole = part.n, runs: held = [{ first: 0, count: whole }] } = part.rows ?? {}
    const rowBytes = 4 * state.floats
    for (let time = 0, here = bytes; time < state.times; time++) {
      for (const { first, count } of held) {
        runs.push([here, wholeBytes + (time * whole + first) * rowBytes, count * rowBytes])
        here += count * rowBytes
      }
    }
    bytes += roundUp(state.times * part.n * rowBytes, CACHE_LINE)
    wholeBytes += roundUp(state.times * whole * rowBytes, CACHE_LINE)
  }
  return { offsets, pool: { bytes, wholeBytes, runs } }
}

/** The state of a node, in the order of wasm/core/abi.h: `times` x the rows of a weight x `floats`. */
function recurrentState(
  node: Node,
): { readonly rows: WeightRef; readonly times: number; readonly floats: number } | undefined {
  switch (node.op) {
    case 'conv1d':
      return { rows: node.weight, times: node.weight.k - 1, floats: 1 }
    case 'scan':
      return { rows: node.decay, times: 1, floats: node.decay.k }
    case 'ssd':
      return {
        rows: node.decay,
        times: 1,
        floats: (node.x.shape[1] / node.heads) * (node.b.shape[1] / node.groups),
      }
    default:
      return undefined
  }
}
