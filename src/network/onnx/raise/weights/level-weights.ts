// 4-bit weights whose codes are indices of levels, as stored by MatMulBnb4 (FP4, NF4). They are read as rows
// of F32.
//
//   codes: rows [n][k], contiguous, two in a byte, the first in the upper half
//   scales [n * k / block]; blocks may span rows
//   W = scale * level of the code
import { release } from '../../../../core/base/bytes.ts'
import type { TensorInfo } from '../../../../core/formats/tensors.ts'
import type { Constant } from '../../ir/graph.ts'
import { LEVELS } from '../../operators/contrib/products.ts'
import { bytesOf, checkBytes, floatsOf } from './block-weights.ts'
import { asHalvesAndFloats, computed, unread } from './matrices.ts'

export interface LevelWeight {
  readonly file: string
  readonly name: string
  readonly n: number
  readonly k: number
  readonly block: number
  readonly kind: keyof typeof LEVELS
  readonly codes: Constant
  readonly scales: Constant
}

/** `auto` stores the values in 8 bits. Throws `unsupported` for rows that end in the middle of a byte. */
export function levelTensor(weight: LevelWeight): TensorInfo {
  const { file, name, n, k, block, kind, codes, scales } = weight
  if (k % 2 !== 0) throw unread(file, name, `has rows of ${k} inputs, which end in the middle of a byte`)
  checkBytes(weight, 'codes', codes, (n * k) / 2)
  checkBytes(weight, 'scales', scales, Math.ceil((n * k) / block))
  const made = computed(file, name, 'F32', [n, k], (...rows) => fill(weight, ...rows))
  const origin = `${kind} in blocks of ${block}: values are rounded again if they are stored in fewer bits`
  return { ...made, origin, ...(k % 32 === 0 && { like: 'Q8_0' as const }) }
}

/** Rows [first, end). */
async function fill(
  { k, block, kind, codes, scales }: LevelWeight,
  first: number,
  end: number,
  out: Uint8Array,
  signal?: AbortSignal,
): Promise<void> {
  const from = first * k
  const to = end * k
  const begin = Math.floor(from / block)
  const [packed, scale] = await Promise.all([
    bytesOf(codes, from / 2, to / 2, signal),
    floatsOf(scales, begin, Math.ceil(to / block), signal),
  ])
  const levels = LEVELS[kind]
  const [, floats] = asHalvesAndFloats(out)
  // hot
  for (let at = from; at < to; at++) {
    const byte = packed[(at - from) >> 1]!
    floats[at - from] = scale[Math.floor(at / block) - begin]! * levels[at % 2 === 0 ? byte >> 4 : byte & 15]!
  }
  release(packed)
  release(scale)
}
