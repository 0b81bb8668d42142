// Rearranges stored Q4_0, Q4_1 and Q8_0 rows into panels. Codes and scales do not change.
//
// A block of a panel, in 32-bit words (wasm/core/abi.h):   scales 4 | minimums 4 (w4m only) | vectors
//   w4: 8 vectors of 4 words, word r of vector j = inputs 4j..4j+3 of row r (low nibbles), row r + 4 (high)
//   w8: 16 vectors of 4 words, word 8j + r = inputs 4j..4j+3 of row r = 0..7, each code + 128
// Q4_0 keeps inputs j and j + 16 in one byte, so one of its words gives word j of the low half and of the
// high half.

import { halfTable } from '../base/half.ts'
import type { StoredRows } from '../formats/dtypes.ts'
import { shiftedFloat, shiftedHalf } from './quantize-weights.ts'

const LOW = 0x0f0f0f0f
const HIGH = 0xf0f0f0f0

/** Q4_0 -> w4_g32, or w4m_g32 with minimum = -8 scales if `withMinimum`. */
export function relayQ4_0(
  rows: StoredRows,
  count: number,
  k: number,
  out: Uint32Array,
  withMinimum: boolean,
): void {
  const groups = k / 32
  const { u16 } = rows
  const half = halfTable()
  let block = 0
  for (let n = 0; n < count; n += 8) {
    for (let g = 0; g < groups; g++) {
      for (let r = 0; r < 4; r++) {
        const a = ((n + r) * groups + g) * 9
        const b = a + 4 * groups * 9
        out[block + r] = shiftedHalf(u16[a]!) | (shiftedHalf(u16[b]!) << 16)
        if (withMinimum) {
          out[block + 4 + r] = shiftedFloat(-8 * half[u16[a]!]!) | (shiftedFloat(-8 * half[u16[b]!]!) << 16)
        }
        layNibbles(u16, a + 1, b + 1, out, block + (withMinimum ? 8 : 4) + r)
      }
      block += withMinimum ? 40 : 36
    }
  }
}

/** Q4_1 -> w4m_g32. */
export function relayQ4_1(rows: StoredRows, count: number, k: number, out: Uint32Array): void {
  const groups = k / 32
  const { u16 } = rows
  let block = 0
  for (let n = 0; n < count; n += 8) {
    for (let g = 0; g < groups; g++, block += 40) {
      for (let r = 0; r < 4; r++) {
        const a = ((n + r) * groups + g) * 10
        const b = a + 4 * groups * 10
        out[block + r] = shiftedHalf(u16[a]!) | (shiftedHalf(u16[b]!) << 16)
        out[block + 4 + r] = shiftedHalf(u16[a + 1]!) | (shiftedHalf(u16[b + 1]!) << 16)
        layNibbles(u16, a + 2, b + 2, out, block + 8 + r)
      }
    }
  }
}

/**
 * Moves the 16 code bytes at `a` and `b` (rows r and r + 4, in halves) to word r of each of a block's 8
 * vectors.
 */
function layNibbles(u16: Uint16Array, a: number, b: number, out: Uint32Array, at: number): void {
  for (let q = 0; q < 4; q++) {
    const low = u16[a + 2 * q]! | (u16[a + 2 * q + 1]! << 16)
    const high = u16[b + 2 * q]! | (u16[b + 2 * q + 1]! << 16)
    out[at + 4 * q] = (low & LOW) | ((high & LOW) << 4)
    out[at + 16 + 4 * q] = ((low >>> 4) & LOW) | (high & HIGH)
  }
}

/** Q8_0 -> w8_g32. */
export function relayQ8_0(rows: StoredRows, count: number, k: number, out: Uint32Array): void {
  const groups = k / 32
  const { u16 } = rows
  let block = 0
  for (let n = 0; n < count; n += 8) {
    for (let g = 0; g < groups; g++, block += 68) {
      layScales8(u16, (n * groups + g) * 17, groups * 17, out, block)
      for (let r = 0; r < 8; r++) {
        const from = ((n + r) * groups + g) * 17 + 1
        for (let j = 0; j < 8; j++) {
          out[block + 4 + 8 * j + r] = (u16[from + 2 * j]! | (u16[from + 2 * j + 1]! << 16)) ^ 0x80808080
        }
      }
    }
  }
}

/** Q4_0 -> w8_g32: the code - 8 under the same scale. */
export function relayQ4_0AsW8(rows: StoredRows, count: number, k: number, out: Uint32Array): void {
  const groups = k / 32
  const { u16 } = rows
  let block = 0
  for (let n = 0; n < count; n += 8) {
    for (let g = 0; g < groups; g++, block += 68) {
      layScales8(u16, (n * groups + g) * 9, groups * 9, out, block)
      for (let r = 0; r < 8; r++) {
        const from = ((n + r) * groups + g) * 9 + 1
        for (let q = 0; q < 4; q++) {
          const codes = u16[from + 2 * q]! | (u16[from + 2 * q + 1]! << 16)
          out[block + 4 + 8 * q + r] = (codes & LOW) + 0x78787878
          out[block + 36 + 8 * q + r] = ((codes >>> 4) & LOW) + 0x78787878
        }
      }
    }
  }
}

function layScales8(u16: Uint16Array, first: number, stride: number, out: Uint32Array, block: number): void {
  for (let r = 0; r < 4; r++) {
    const a = first + r * stride
    out[block + r] = shiftedHalf(u16[a]!) | (shiftedHalf(u16[a + 4 * stride]!) << 16)
  }
}
