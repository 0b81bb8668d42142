// State layout. In: a state group. Out: the bytes of a block of 64 positions, and where each layer lies in
// it.
import { BLOCK_POSITIONS } from '../../abi/constants.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { StateGroup } from '../ir.ts'
import type { PoolLayout, StateRun } from './plan.ts'

/** Bytes per position after the codes of one KV head: f32 scales, offsets, i32 sums. */
const WORDS = { k: { f32: 0, int8: 12 }, v: { f32: 0, int8: 8, fp8: 4 } } as const
const CODE_BYTES = { f32: 4, int8: 1, fp8: 1 } as const

/**
 * K of one layer in one block: codes of [kvHead][64][headDim] and their words, in the order of
 * wasm/core/abi.h.
 */
const keyBytes = ({ kvHeads, headDim, format: { k } }: StateGroup): number =>
  kvHeads * BLOCK_POSITIONS * (headDim * CODE_BYTES[k] + WORDS.k[k])
const valueBytes = ({ kvHeads, headDim, format: { v } }: StateGroup): number =>
  kvHeads * BLOCK_POSITIONS * (headDim * CODE_BYTES[v] + WORDS.v[v])

/** Byte offsets of a layer's keys and values from the start of a block. */
export function layerOffsets(group: StateGroup, layer: number): { readonly k: number; readonly v: number } {
  const index = group.layers.indexOf(layer)
  if (index < 0)
    throw new HalfbyteError('internal', `layer ${layer} is not in the state group of ${group.layers}`)
  const k = index * (keyBytes(group) + valueBytes(group))
  return { k, v: k + keyBytes(group) }
}

/** Bytes of one block: K and V of every layer of the group. A multiple of 64. */
export const blockBytes = (group: StateGroup): number => blockLayout(group).bytes

/** The layout of a block, and where its parts lie in a block of the whole model. */
export function blockLayout(group: StateGroup): PoolLayout {
  const { kvHeads, layers, held = { first: 0, whole: kvHeads } } = group
  const runs: StateRun[] = []
  let [bytes, wholeBytes] = [0, 0]
  for (const _ of layers) {
    for (const part of [keyBytes(group), valueBytes(group)]) {
      const head = part / kvHeads
      runs.push([bytes, wholeBytes + held.first * head, part])
      bytes += part
      wholeBytes += held.whole * head
    }
  }
  return { bytes, wholeBytes, runs }
}
