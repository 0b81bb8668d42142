// Slab layout. In: a graph. Out: where each recurrent layer's state lies in a sequence's slab.
import type { Graph, Node } from './ir.ts'
import { rowsOf } from './shapes.ts'

/** Where each recurrent node's f32 state lies in a sequence's slab, and the slab's size; both in bytes. */
export interface SlabLayout {
  readonly offsets: ReadonlyMap<Node, number>
  readonly bytes: number
}

/** Parts begin at cache lines, in the order of the nodes. */
export function slabLayout({ nodes }: Graph): SlabLayout {
  const offsets = new Map<Node, number>()
  let bytes = 0
  for (const node of nodes) {
    const floats = recurrentFloats(node)
    if (floats === 0) continue
    offsets.set(node, bytes)
    bytes += Math.ceil((floats * 4) / 64) * 64
  }
  return { offsets, bytes }
}

function recurrentFloats(node: Node): number {
  switch (node.op) {
    case 'conv1d':
      return rowsOf(node.weight) * (node.weight.k - 1)
    case 'scan':
      return rowsOf(node.decay) * node.decay.k
    case 'ssd':
      return (node.x.shape[1] * node.b.shape[1]) / node.groups
    default:
      return 0
  }
}
