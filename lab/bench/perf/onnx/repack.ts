// Repacks rows of Q4_0 blocks for MatMulNBits and GatherBlockQuantized, or as int8 per channel.
//
//   Q4_0: per 32 inputs 18 bytes: an f16 scale d, then byte j = code j | code (j + 16) << 4;
//         a weight is d * (code - 8)
//   4-bit ONNX: codes [n][k / 32][16], byte j = code 2j | code (2j + 1) << 4, zero point 8; scales apart,
//         f32 [n][k / 32]
import { halfToFloat } from '../../../../src/core/base/half.ts'

const BLOCK = 32
const BLOCK_BYTES = 18

interface FourBit {
  /** [n][k / 32][16] */
  readonly codes: Uint8Array
  /** [n][k / 32] */
  readonly scales: Float32Array
}

/** Preserves all values. */
export function fourBit(q4: Uint8Array): FourBit {
  const blocks = q4.byteLength / BLOCK_BYTES
  const codes = new Uint8Array(blocks * 16)
  for (let block = 0; block < blocks; block++) {
    const from = block * BLOCK_BYTES + 2
    for (let j = 0; j < 8; j++) {
      const even = q4[from + 2 * j] ?? 0
      const odd = q4[from + 2 * j + 1] ?? 0
      codes[block * 16 + j] = (even & 15) | ((odd & 15) << 4)
      codes[block * 16 + 8 + j] = (even >> 4) | (odd & 0xf0)
    }
  }
  return { codes, scales: blockScales(q4) }
}

interface EightBit {
  /** [n][k] */
  readonly codes: Int8Array
  /** [n] */
  readonly scales: Float32Array
}

/** Symmetric, one scale per row: absmax / 127. */
export function eightBit(q4: Uint8Array, k: number): EightBit {
  const values = floats(q4)
  const n = values.length / k
  const codes = new Int8Array(n * k)
  const scales = new Float32Array(n)
  for (let r = 0; r < n; r++) {
    const row = values.subarray(r * k, (r + 1) * k)
    const most = row.reduce((found, value) => Math.max(found, Math.abs(value)), 0)
    scales[r] = most / 127
    const inverse = most === 0 ? 0 : 127 / most
    for (let c = 0; c < k; c++) codes[r * k + c] = Math.round(row[c]! * inverse)
  }
  return { codes, scales }
}

/** Symmetric, one scale for all: absmax / 127. */
export function eightBits(values: Float32Array): { readonly codes: Int8Array; readonly scale: number } {
  const most = values.reduce((found, value) => Math.max(found, Math.abs(value)), 0)
  const inverse = most === 0 ? 0 : 127 / most
  const codes = new Int8Array(values.length)
  for (let index = 0; index < values.length; index++) codes[index] = Math.round(values[index]! * inverse)
  return { codes, scale: most / 127 }
}

/** The dequantised weights, in order. */
export function floats(q4: Uint8Array): Float32Array {
  const scales = blockScales(q4)
  const out = new Float32Array(scales.length * BLOCK)
  for (const [block, scale] of scales.entries()) {
    for (let j = 0; j < 16; j++) {
      const byte = q4[block * BLOCK_BYTES + 2 + j]!
      out[block * BLOCK + j] = scale * ((byte & 15) - 8)
      out[block * BLOCK + j + 16] = scale * ((byte >> 4) - 8)
    }
  }
  return out
}

/** [n][k] to [k][n]. */
export function transposed<Numbers extends Int8Array | Float32Array>(rows: Numbers, k: number): Numbers {
  const n = rows.length / k
  const out = rows.slice() as Numbers
  for (let c = 0; c < k; c++) {
    for (let r = 0; r < n; r++) out[c * n + r] = rows[r * k + c]!
  }
  return out
}

function blockScales(q4: Uint8Array): Float32Array {
  const view = new DataView(q4.buffer, q4.byteOffset, q4.byteLength)
  return Float32Array.from({ length: q4.byteLength / BLOCK_BYTES }, (_, block) =>
    halfToFloat(view.getUint16(block * BLOCK_BYTES, true)),
  )
}
