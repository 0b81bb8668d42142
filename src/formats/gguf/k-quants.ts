// K-quants. In: superblocks of 256 elements, whose scales have a scale. Out: groups, by ggml's definitions.
//
//   Q2_K   u8 [16] scale, minimum nibbles | 64 B of 2-bit codes | f16 d | f16 dmin                    84 B
//   Q3_K   32 B of high bits | 64 B of 2-bit codes | 12 B of 6-bit scales | f16 d                    110 B
//   Q4_K   f16 d | f16 dmin | 12 B of 6-bit scales and minimums | 128 B of nibbles                   144 B
//   Q5_K   as Q4_K, with 32 B of fifth bits before the nibbles                                       176 B
//   Q6_K   128 B of low nibbles | 64 B of high bit pairs | i8 [16] scales | f16 d                    210 B
import { halfTable } from '../../base/half.ts'
import type { CodedGroup, RowViews } from '../coded-group.ts'

/**
 * Codes are stored in two runs of 128 elements; a byte holds the elements l, l + 32, l + 64 and l + 96 of its
 * run.
 */
function readTwoBits(u8: Uint8Array, at: number, group: number, codes: Int16Array): void {
  const from = at + 32 * (group >>> 2)
  const shift = 2 * (group & 3)
  for (let i = 0; i < 32; i++) codes[i] = (u8[from + i]! >>> shift) & 3
}

export function readQ2K({ u8, u16 }: RowViews, index: number, out: CodedGroup): void {
  const at = (index >>> 3) * 84
  const group = index & 7
  const half = halfTable()
  const d = half[u16[at / 2 + 40]!]!
  const dmin = half[u16[at / 2 + 41]!]!
  for (let h = 0; h < 2; h++) {
    const packed = u8[at + 2 * group + h]!
    out.scales[h] = d * (packed & 15)
    out.minimums[h] = -dmin * (packed >>> 4)
  }
  readTwoBits(u8, at + 16, group, out.codes)
}

export function readQ3K({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 110
  const group = index & 7
  const d = halfTable()[u16[at / 2 + 54]!]!
  for (let h = 0; h < 2; h++) scales[h] = d * (sixBits(u8, at + 96, 2 * group + h) - 32)
  readTwoBits(u8, at + 32, group, codes)
  // A clear high bit means 4 less.
  for (let i = 0; i < 32; i++) codes[i]! -= (u8[at + i]! >>> group) & 1 ? 0 : 4
}

/** Scale j of 16: the low nibble is in the first 8 bytes, the two high bits are in the last 4. */
function sixBits(u8: Uint8Array, at: number, j: number): number {
  const low = (u8[at + (j & 7)]! >>> (j < 8 ? 0 : 4)) & 15
  const high = (u8[at + 8 + (j & 3)]! >>> (2 * (j >>> 2))) & 3
  return low | (high << 4)
}

export function readQ4K({ u8, u16 }: RowViews, index: number, out: CodedGroup): void {
  const at = (index >>> 3) * 144
  const group = index & 7
  readScales(u8, u16, at, group, out)
  readNibbles(u8, at + 16, group, out.codes)
}

export function readQ5K({ u8, u16 }: RowViews, index: number, out: CodedGroup): void {
  const at = (index >>> 3) * 176
  const group = index & 7
  readScales(u8, u16, at, group, out)
  readNibbles(u8, at + 48, group, out.codes)
  for (let i = 0; i < 32; i++) out.codes[i]! |= ((u8[at + 16 + i]! >>> group) & 1) << 4
}

/**
 * A byte holds an element of an even group in its low nibble, and one of the next group in its high nibble.
 */
function readNibbles(u8: Uint8Array, at: number, group: number, codes: Int16Array): void {
  const from = at + 32 * (group >>> 1)
  const shift = 4 * (group & 1)
  for (let i = 0; i < 32; i++) codes[i] = (u8[from + i]! >>> shift) & 15
}

function readScales(u8: Uint8Array, u16: Uint16Array, at: number, j: number, out: CodedGroup): void {
  const half = halfTable()
  const from = at + 4
  const isFirst = j < 4
  const a = u8[from + j]!
  const b = u8[from + j + 4]!
  const scale = isFirst ? a & 63 : (b & 15) | ((u8[from + j - 4]! >>> 6) << 4)
  const minimum = isFirst ? b & 63 : (b >>> 4) | ((a >>> 6) << 4)
  out.scales.fill(half[u16[at / 2]!]! * scale)
  out.minimums.fill(-half[u16[at / 2 + 1]!]! * minimum)
}

export function readQ6K({ u8, i8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 210
  const run = (index >>> 2) & 1
  const quarter = index & 3
  const d = halfTable()[u16[at / 2 + 104]!]!
  for (let h = 0; h < 2; h++) scales[h] = d * i8[at + 192 + 8 * run + 2 * quarter + h]!
  const low = at + 64 * run + 32 * (quarter & 1)
  const high = at + 128 + 32 * run
  for (let i = 0; i < 32; i++) {
    const nibble = (u8[low + i]! >>> (4 * (quarter >>> 1))) & 15
    codes[i] = (nibble | (((u8[high + i]! >>> (2 * quarter)) & 3) << 4)) - 32
  }
}
