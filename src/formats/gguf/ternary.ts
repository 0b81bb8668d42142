// Blocks of 1 and 2 bits. In: 64 to 256 elements -1, 0, 1 or 2 with one scale. Out: groups, by ggml's
// definitions.
//
//   Q1_0   f16 d | 16 B of eight elements each, a set bit is 1 and a clear one -1     18 B
//   Q2_0   f16 d | 16 B of four elements each                                         18 B
//   TQ1_0  48 B of five elements each | 4 B of four elements each | f16 d    54 B
//   TQ2_0  64 B of four elements each | f16 d                               66 B
import { halfTable } from '../../base/half.ts'
import type { CodedGroup, RowViews } from '../coded-group.ts'

const POWERS_OF_3 = Uint8Array.of(1, 3, 9, 27, 81)

export function readTQ1({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 54
  const group = index & 7
  scales.fill(halfTable()[u16[at / 2 + 26]!]!)
  for (let i = 0; i < 32; i++) codes[i] = trit(u8, at, 32 * group + i)
}

/**
 * Bytes 0..31 hold elements 0..159, bytes 32..47 the next 80 and bytes 48..51 the last 16. The first digits
 * of a run's bytes come first, then the second digits, and so on.
 */
function trit(u8: Uint8Array, at: number, element: number): number {
  const [start, byte, width] = element < 160 ? [0, 0, 32] : element < 240 ? [160, 32, 16] : [240, 48, 4]
  const inRun = element - start
  const digit = Math.floor(inRun / width)
  // The byte is a base-3 fraction, scaled to 256: multiplying by a power of 3 moves the wanted digit to the
  // front.
  const shifted = (u8[at + byte + (inRun % width)]! * POWERS_OF_3[digit]!) & 255
  return ((shifted * 3) >>> 8) - 1
}

export function readTQ2({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 66
  const group = index & 7
  scales.fill(halfTable()[u16[at / 2 + 32]!]!)
  const from = at + 32 * (group >>> 2)
  for (let i = 0; i < 32; i++) codes[i] = ((u8[from + i]! >>> (2 * (group & 3))) & 3) - 1
}

export function readQ1({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 2) * 18
  scales.fill(halfTable()[u16[at / 2]!]!)
  const from = at + 2 + 4 * (index & 3)
  for (let i = 0; i < 32; i++) codes[i] = (u8[from + (i >>> 3)]! >>> (i & 7)) & 1 ? 1 : -1
}

export function readQ2({ u8, u16 }: RowViews, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 1) * 18
  scales.fill(halfTable()[u16[at / 2]!]!)
  const from = at + 2 + 8 * (index & 1)
  for (let i = 0; i < 32; i++) codes[i] = ((u8[from + (i >>> 2)]! >>> (2 * (i & 3))) & 3) - 1
}
