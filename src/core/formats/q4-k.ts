// The blocks of Q4_K: 256 elements in eight groups of 32.
//
//   byte 0 f16 d | 2 f16 dmin | 4 scales and minimums [12] | 16 codes [128]
//   W = d * scale * code - dmin * minimum
//
// The 128 bytes hold the groups in pairs: each 32 bytes have the codes of an even group in their low nibbles,
// and those of the next group in the high ones. Q5_K begins with the same 16 bytes and ends with the same
// codes.
import type { RowViews } from './coded-group.ts'

export const Q4_K = { elements: 256, bytes: 144, codes: 16 } as const

/** The scale of a group in the block that starts at byte `at`. `half`: `halfTable()`. */
export const groupScale = (half: Float32Array, { u8, u16 }: RowViews, at: number, group: number): number =>
  half[u16[at / 2]!]! * scaleBits(u8, at + 4, group)

/** The number that is added to each element of a group. */
export const groupMinimum = (half: Float32Array, { u8, u16 }: RowViews, at: number, group: number): number =>
  -half[u16[at / 2 + 1]!]! * minimumBits(u8, at + 4, group)

/** The first byte of a group's codes, relative to the first byte of all codes. */
export const codesStart = (group: number): number => 32 * (group >>> 1)

/** How far to shift a byte so that the group's code is in the lowest bits. */
export const codesShift = (group: number): number => 4 * (group & 1)

/**
 * Scale `j` of the eight in 12 bytes. Bytes 0..3 and 4..7 hold six bits of the first four scales and
 * minimums. Bytes 8..11 hold the low four bits of the others; their two high bits are the high bits of the
 * earlier bytes.
 */
const scaleBits = (u8: Uint8Array, at: number, j: number): number =>
  j < 4 ? u8[at + j]! & 63 : (u8[at + j + 4]! & 15) | ((u8[at + j - 4]! >>> 6) << 4)

/** Minimum `j`, stored in the same way. */
const minimumBits = (u8: Uint8Array, at: number, j: number): number =>
  j < 4 ? u8[at + j + 4]! & 63 : (u8[at + j + 4]! >>> 4) | ((u8[at + j]! >>> 6) << 4)
