// Quantised panels. In: stored rows of any dtype, a multiple of 8. Out: their values in w8_g32, w4_g32 or
// w4_channel panels.

import { roundUp } from '../../abi/encodings.ts'
import { dequantize } from '../../formats/dequantize.ts'
import type { StoredRows } from '../../formats/stored-rows.ts'
import { quantize4, quantize8 } from '../quantize.ts'

/** Pads K with zeros to whole groups. A zero has code 8 in w4 and 0 in w8, whatever the scale. */
export function packQuantized(
  rows: StoredRows,
  count: number,
  k: number,
  encoding: 'w8_g32' | 'w4_g32' | 'w4_channel',
  out: Uint32Array,
): void {
  const stride = roundUp(k, 32)
  const panel = new Float32Array(8 * stride)
  // How many inputs share a scale.
  const span = encoding === 'w4_channel' ? stride : 32
  const codes = new Uint8Array(8 * span)
  const words = new Uint32Array(codes.buffer)
  const patterns = new Uint16Array(8)
  const isByte = encoding === 'w8_g32'
  const quantize = isByte ? quantize8 : quantize4
  let block = 0
  for (let n = 0; n < count; n += 8) {
    for (let r = 0; r < 8; r++) dequantize(rows, (n + r) * k, k, panel, r * stride)
    for (let g = 0; g < stride; g += span) {
      for (let r = 0; r < 8; r++) patterns[r] = quantize(panel, r * stride + g, codes, r * span, span)
      for (let r = 0; r < 4; r++) out[block++] = patterns[r]! | (patterns[r + 4]! << 16)
      for (let i = 0; i < span / 4; i += 8) {
        if (isByte) layBytes(words, out, block)
        else layNibbles(words.subarray(i), out, block, span / 4)
        block += isByte ? 64 : 32
      }
    }
  }
}

/** Lays bytes into vectors: words[8 * row + j] holds the codes of inputs 4j..4j+3. */
export function layBytes(words: Uint32Array, out: Uint32Array, at: number): void {
  for (let j = 0; j < 8; j++) {
    for (let r = 0; r < 8; r++) out[at + 8 * j + r] = words[8 * r + j]!
  }
}

/**
 * The same with two codes per byte: row r in the low nibble, row r + 4 in the high one. Rows lie `pitch`
 * words apart.
 */
export function layNibbles(words: Uint32Array, out: Uint32Array, at: number, pitch = 8): void {
  for (let j = 0; j < 8; j++) {
    for (let r = 0; r < 4; r++)
      out[at + 4 * j + r] = words[pitch * r + j]! | (words[pitch * (r + 4) + j]! << 4)
  }
}
