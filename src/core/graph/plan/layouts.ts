// Layouts: the offset of each layer in a block of 64 positions and in a sequence's slab.
import { BLOCK_POSITIONS } from '../../abi/constants.ts'
import {
  floatStride,
  isSparse,
  matrixBytes,
  type PackedEncoding,
  ROW_PADDING,
  roundUp,
  sparseTableBytes,
} from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { memo } from '../../base/values.ts'
import type { StateGroup, WeightPart, WeightRef } from '../ir.ts'
import type { Graph, Node } from '../nodes.ts'
import { type EncodingOf, encodingOfWeight } from '../passes/split.ts'
import type { PoolLayout, StateRun, WeightSlot } from './plan.ts'

/** Bytes of the strips of a weight in a sparse encoding. They depend on where its zeros are. */
export type StripBytesOf = (name: string) => number

export class Slots {
  readonly all: WeightSlot[] = []
  readonly #encodingOf: EncodingOf
  readonly #stripBytesOf: StripBytesOf | undefined
  readonly #indices = new Map<string, number>()

  constructor(encodingOf: EncodingOf, stripBytesOf: StripBytesOf | undefined) {
    this.#encodingOf = encodingOf
    this.#stripBytesOf = stripBytesOf
  }

  /** The slot of a weight. A weight has the same slot wherever it is used. */
  of(ref: WeightRef): { readonly slot: number; readonly encoding: PackedEncoding } {
    const key = ref.parts.map(({ name }) => name).join(' ')
    const encoding = encodingOfWeight(ref, this.#encodingOf)
    const slot = memo(this.#indices, key, () => {
      const n = ref.parts.reduce((sum, part) => sum + roundUp(part.n, ROW_PADDING), 0)
      const table = isSparse(encoding) ? sparseTableBytes(n) : 0
      const bytes = ref.parts.reduce((sum, part) => sum + this.#bytesOf(ref, part, encoding), table)
      return this.all.push({ ref, encoding, n, bytes }) - 1
    })
    return { slot, encoding }
  }

  #bytesOf({ kind, k }: WeightRef, { name, n }: WeightPart, encoding: PackedEncoding): number {
    if (kind === 'vector') return floatStride(n)
    if (!isSparse(encoding)) return matrixBytes(encoding, n, k)
    if (this.#stripBytesOf !== undefined) return this.#stripBytesOf(name)
    throw new HalfbyteError('internal', `the size of ${name} as ${encoding} is unknown`)
  }
}

/** The byte offset of each recurrent node's f32 state in a sequence's slab, and the slab's layout. */
interface SlabLayout {
  readonly offsets: ReadonlyMap<Node, number>
  readonly pool: PoolLayout
}

const CACHE_LINE = 64

/** Each node's state begins at a cache line boundary, in node order. */
export function slabLayout({ nodes }: Graph): SlabLayout {
  const offsets = new Map<Node, number>()
  const runs: StateRun[] = []
  let bytes = 0
  let wholeBytes = 0
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

/** The size of a node's state, in the order of wasm/core/abi.h: `times` x the rows of a weight x `floats`. */
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
    case 'delta':
      return { rows: node.decay, times: 1, floats: (node.z.shape[1] / node.heads) * node.keyDim }
    case 'lru':
      return { rows: node.param, times: 1, floats: 1 }
    case 'wkv':
      return { rows: node.decay, times: 3, floats: 1 }
    default:
      return undefined
  }
}

/** Bytes per position after the codes of one KV head: f32 scales, f32 offsets, i32 sums. */
const WORDS = { k: { f32: 0, int8: 12 }, v: { f32: 0, int8: 8, fp8: 4 } } as const
const CODE_BYTES = { f32: 4, int8: 1, fp8: 1 } as const

/**
 * The format of `fp8` codes. It is part of fingerprints, because state saved with other codes, such as e4m3
 * in earlier releases, has the same layout and would be misread.
 */
export const FP8_CODES = 'e3m4'

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
    throw new HalfbyteError('internal', `layer ${layer} is not in the state group of layers ${group.layers}`)
  const k = index * (keyBytes(group) + valueBytes(group))
  return { k, v: k + keyBytes(group) }
}

/** Bytes of one block: K and V of every layer of the group. A multiple of 64. */
export const blockBytes = (group: StateGroup): number => blockLayout(group).bytes

/** The layout of a block, and the offsets of its parts in a block of the whole model. */
export function blockLayout(group: StateGroup): PoolLayout {
  const { kvHeads, layers, held = { first: 0, whole: kvHeads } } = group
  const runs: StateRun[] = []
  let bytes = 0
  let wholeBytes = 0
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
