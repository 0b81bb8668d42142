// Rearranges stored Q4_0, Q4_1, Q4_K, Q5_0 and Q8_0 rows into panels. Codes do not change. Neither do scales,
// except those of Q4_K, which are products and are rounded to f16.
//
// A block of a panel, in 32-bit words (wasm/core/abi.h):   scales 4 | minimums 4 (w4m only) | vectors
//   w4: 8 vectors of 4 words, word r of vector j = inputs 4j..4j+3 of row r (low nibbles), row r + 4 (high)
//   w8: 16 vectors of 4 words, word 8j + r = inputs 4j..4j+3 of row r = 0..7, each code + 128
// Q4_0 keeps inputs j and j + 16 in one byte, so one of its words yields word j of both the low and the high
// half.

import { halfTable } from '../base/half.ts'
import type { StoredRows } from '../formats/dtypes.ts'
import { codesShift, codesStart, groupMinimum, groupScale, Q4_K } from '../formats/q4-k.ts'
import { shiftedFloat, shiftedHalf } from './quantize-weights.ts'

const LOW = 0x0f0f0f0f
const HIGH = 0xf0f0f0f0

/** Q4_0 -> w4_g32. */
export const relayQ4_0 = (rows: StoredRows, count: number, k: number, out: Uint32Array): void =>
  layQ4_0(rows, count, k, out, false)

/** Q4_0 -> w4m_g32, with minimum = -8 scales. */
export const relayQ4_0AsW4m = (rows: StoredRows, count: number, k: number, out: Uint32Array): void =>
  layQ4_0(rows, count, k, out, true)

function layQ4_0(rows: StoredRows, count: number, k: number, out: Uint32Array, withMinimum: boolean): void {
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

/** Q4_K -> w4m_g32. */
export function relayQ4_K(rows: StoredRows, count: number, k: number, out: Uint32Array): void {
  const { u16 } = rows
  const half = halfTable()
  const blocks = k / Q4_K.elements
  const scale = (at: number, group: number) => shiftedFloat(groupScale(half, rows, at, group))
  const minimum = (at: number, group: number) => shiftedFloat(groupMinimum(half, rows, at, group))
  let block = 0
  for (let n = 0; n < count; n += 8) {
    for (let g = 0; g < 8 * blocks; g++, block += 40) {
      const group = g & 7
      for (let r = 0; r < 4; r++) {
        const a = ((n + r) * blocks + (g >>> 3)) * Q4_K.bytes
        const b = a + 4 * blocks * Q4_K.bytes
        out[block + r] = scale(a, group) | (scale(b, group) << 16)
        out[block + 4 + r] = minimum(a, group) | (minimum(b, group) << 16)
        const codes = (Q4_K.codes + codesStart(group)) / 2
        layHalfBytes(u16, a / 2 + codes, b / 2 + codes, codesShift(group), out, block + 8 + r)
      }
    }
  }
}

/**
 * Moves the low nibbles of 32 bytes at `a` and `b` or, with a shift of 4, the high ones, as `layNibbles`
 * does.
 */
function layHalfBytes(
  u16: Uint16Array,
  a: number,
  b: number,
  shift: number,
  out: Uint32Array,
  at: number,
): void {
  for (let j = 0; j < 8; j++) {
    const low = (u16[a + 2 * j]! | (u16[a + 2 * j + 1]! << 16)) >>> shift
    const high = (u16[b + 2 * j]! | (u16[b + 2 * j + 1]! << 16)) >>> shift
    out[at + 4 * j] = (low & LOW) | ((high & LOW) << 4)
  }
}

/** Moves bit i of the index to bit 4 of byte i. */
const FIFTH_BITS = Uint32Array.from({ length: 16 }, (_, bits) =>
  [0, 1, 2, 3].reduce((word, i) => word + ((bits >>> i) & 1) * 2 ** (8 * i + 4), 0),
)

/**
 * Q5_0 -> w8_g32: the code - 16 under the same scale. Blocks: f16 scale | 32 fifth bits | nibbles as in
 * Q4_0.
 */
export function relayQ5_0(rows: StoredRows, count: number, k: number, out: Uint32Array): void {
  const groups = k / 32
  const { u16 } = rows
  let block = 0
  for (let n = 0; n < count; n += 8) {
    for (let g = 0; g < groups; g++, block += 68) {
      layScales8(u16, (n * groups + g) * 11, groups * 11, out, block)
      for (let r = 0; r < 8; r++) {
        const from = ((n + r) * groups + g) * 11 + 1
        for (let q = 0; q < 4; q++) {
          const codes = u16[from + 2 + 2 * q]! | (u16[from + 3 + 2 * q]! << 16)
          const low = FIFTH_BITS[(u16[from]! >>> (4 * q)) & 15]!
          const high = FIFTH_BITS[(u16[from + 1]! >>> (4 * q)) & 15]!
          out[block + 4 + 8 * q + r] = ((codes & LOW) | low) + 0x70707070
          out[block + 36 + 8 * q + r] = (((codes >>> 4) & LOW) | high) + 0x70707070
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
