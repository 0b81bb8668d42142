// State layout. In: a state group. Out: how many bytes a block of 64 positions has and where each layer lies in it.
import { HalfbyteError } from '../base/errors.ts'
import type { StateGroup } from './ir.ts'

/** Positions of a block; BLOCK_POSITIONS of wasm/abi.h. */
export const BLOCK_POSITIONS = 64

/** K or V of one layer in one block: f32 [kvHead][64][headDim], in the orders of wasm/abi.h. */
const halfBytes = ({ kvHeads, headDim }: StateGroup): number => kvHeads * headDim * BLOCK_POSITIONS * 4

/** Bytes of one block: K and V of every layer of the group. A multiple of 64. */
export function blockBytes(group: StateGroup): number {
  return group.layers.length * 2 * halfBytes(group)
}

/** Byte offsets of a layer's keys and values from the start of a block. */
export function layerOffsets(group: StateGroup, layer: number): { readonly k: number; readonly v: number } {
  const index = group.layers.indexOf(layer)
  if (index < 0)
    throw new HalfbyteError('internal', `layer ${layer} is not in the state group of ${group.layers}`)
  const half = halfBytes(group)
  return { k: index * 2 * half, v: (index * 2 + 1) * half }
}
