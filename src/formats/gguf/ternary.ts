// Ternary blocks. In: superblocks of 256 elements -1, 0 or 1 with one scale. Out: groups, by ggml's
// definitions.
//
//   TQ1_0  48 B of five elements each | 4 B of four elements each | f16 d    54 B
//   TQ2_0  64 B of four elements each | f16 d                               66 B
import { halfTable } from '../../base/half.ts'
import type { StoredRows } from '../stored-rows.ts'
import type { CodedGroup } from './coded-group.ts'

const POWERS_OF_3 = Uint8Array.of(1, 3, 9, 27, 81)

export function readTQ1({ u8, u16 }: StoredRows, index: number, { codes, scales }: CodedGroup): void {
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

export function readTQ2({ u8, u16 }: StoredRows, index: number, { codes, scales }: CodedGroup): void {
  const at = (index >>> 3) * 66
  const group = index & 7
  scales.fill(halfTable()[u16[at / 2 + 32]!]!)
  const from = at + 32 * (group >>> 2)
  for (let i = 0; i < 32; i++) codes[i] = ((u8[from + i]! >>> (2 * (group & 3))) & 3) - 1
}
