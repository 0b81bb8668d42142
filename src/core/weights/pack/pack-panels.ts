// Arranges stored rows, as floats or as codes with scales, in the panels of a kernel layout.

import { roundUp } from '../../abi/encodings.ts'
import { codedGroup } from '../../formats/coded-group.ts'
import { codingOf, dequantize } from '../../formats/dequantize.ts'
import type { StoredRows } from '../../formats/dtypes.ts'
import { quantize4, quantize8, shiftedFloat } from '../quantize-weights.ts'

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
  // Number of inputs that share a scale.
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

/** Arranges bytes in vectors: words[8 * row + j] holds the codes for inputs 4j..4j+3. */
export function layBytes(words: Uint32Array, out: Uint32Array, at: number): void {
  for (let j = 0; j < 8; j++) {
    for (let r = 0; r < 8; r++) out[at + 8 * j + r] = words[8 * r + j]!
  }
}

/**
 * Like `layBytes`, with two codes per byte: row r in the low nibble, row r + 4 in the high one. Rows are
 * `pitch` words apart.
 */
export function layNibbles(words: Uint32Array, out: Uint32Array, at: number, pitch = 8): void {
  for (let j = 0; j < 8; j++) {
    for (let r = 0; r < 4; r++)
      out[at + 4 * j + r] = words[pitch * r + j]! | (words[pitch * (r + 4) + j]! << 4)
  }
}

/** Makes f16 and bf16 panels. Elements are only moved, never converted. */
export function packHalves(rows: StoredRows, count: number, k: number, out: Uint16Array): void {
  const { u16 } = rows
  for (let n = 0; n < count; n += 8) {
    let to = n * k
    for (let from = n * k; from < n * k + k; from++, to += 8) {
      out[to] = u16[from]!
      out[to + 1] = u16[from + k]!
      out[to + 2] = u16[from + 2 * k]!
      out[to + 3] = u16[from + 3 * k]!
      out[to + 4] = u16[from + 4 * k]!
      out[to + 5] = u16[from + 5 * k]!
      out[to + 6] = u16[from + 6 * k]!
      out[to + 7] = u16[from + 7 * k]!
    }
  }
}

/** Makes f32 panels from any dtype. */
export function packFloats(rows: StoredRows, count: number, k: number, out: Float32Array): void {
  const panel = rows.dtype === 'F32' ? rows.f32 : new Float32Array(8 * k)
  for (let n = 0; n < count; n += 8) {
    let start = n * k
    if (rows.dtype !== 'F32') {
      dequantize(rows, n * k, 8 * k, panel, 0)
      start = 0
    }
    let to = n * k
    for (let from = start; from < start + k; from++, to += 8) {
      out[to] = panel[from]!
      out[to + 1] = panel[from + k]!
      out[to + 2] = panel[from + 2 * k]!
      out[to + 3] = panel[from + 3 * k]!
      out[to + 4] = panel[from + 4 * k]!
      out[to + 5] = panel[from + 5 * k]!
      out[to + 6] = panel[from + 6 * k]!
      out[to + 7] = panel[from + 7 * k]!
    }
  }
}

type CodedEncoding = 'w8_g32' | 'w4_g32' | 'w4m_g32'

/** The code of zero in encodings without a minimum. */
const ZERO: Readonly<Record<CodedEncoding, number>> = { w8_g32: 128, w4_g32: 8, w4m_g32: 0 }

/** Levels that are almost evenly spaced: W = scale * step * (code - offset / step), with codes under 16. */
interface Near {
  readonly step: number
  readonly offset: number
}

/**
 * Moves the codes of rows in coded groups into panels, or uses the nearest codes according to `near`. A scale
 * or minimum that is a product of two numbers (Q4_K, and all IQ types but IQ4_NL) is rounded to f16, with a
 * relative error of at most 2^-11. Everything else is exact. Throws `format` for scales beyond f16.
 */
export function packCoded(
  rows: StoredRows,
  encoding: CodedEncoding,
  count: number,
  k: number,
  out: Uint32Array,
  near?: Near,
): void {
  const { step, offset } = near ?? { step: 1, offset: ZERO[encoding] }
  const codeOf = Uint8Array.from({ length: 256 }, (_, code) => Math.round((code - 128 + offset) / step))
  const { read } = codingOf(rows)
  const group = codedGroup()
  const codes = new Uint8Array(8 * 32)
  const words = new Uint32Array(codes.buffer)
  const scales = new Uint16Array(8)
  const minimums = new Uint16Array(8)
  const groups = k / 32
  let block = 0
  for (let n = 0; n < count; n += 8) {
    for (let g = 0; g < groups; g++) {
      for (let r = 0; r < 8; r++) {
        read(rows, (n + r) * groups + g, group)
        const scale = group.scales[0]!
        scales[r] = shiftedFloat(scale * step)
        minimums[r] = shiftedFloat(near === undefined ? group.minimums[0]! : -scale * offset)
        for (let i = 0; i < 32; i++) codes[32 * r + i] = codeOf[group.codes[i]! + 128]!
      }
      block = layHalves(scales, out, block)
      if (encoding === 'w4m_g32') block = layHalves(minimums, out, block)
      if (encoding === 'w8_g32') layBytes(words, out, block)
      else layNibbles(words, out, block)
      block += encoding === 'w8_g32' ? 64 : 32
    }
  }
}

/** Writes the scales or minimums of 8 rows, pairing row i with row i + 4. Returns the next position. */
export function layHalves(patterns: Uint16Array, out: Uint32Array, at: number): number {
  for (let r = 0; r < 4; r++) out[at + r] = patterns[r]! | (patterns[r + 4]! << 16)
  return at + 4
}
