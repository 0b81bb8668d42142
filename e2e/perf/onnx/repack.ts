// Repacking. In: rows of Q4_0 blocks. Out: the same numbers as MatMulNBits and GatherBlockQuantized have
// them, or int8 by channel.
//
//   Q4_0: per 32 inputs 18 bytes: an f16 scale d, then byte j = code j | code (j + 16) << 4;
//         a weight is d * (code - 8)
//   4-bit ONNX: codes [n][k / 32][16], byte j = code 2j | code (2j + 1) << 4, zero point 8; scales apart,
//         f32 [n][k / 32]
import { halfToFloat } from '../../../src/base/half.ts'

const BLOCK = 32
const BLOCK_BYTES = 18

export interface FourBit {
  /** [n][k / 32][16] */
  readonly codes: Uint8Array
  /** [n][k / 32] */
  readonly scales: Float32Array
}

/** No value changes. */
export function fourBit(q4: Uint8Array): FourBit {
  const blocks = q4.byteLength / BLOCK_BYTES
  const codes = new Uint8Array(blocks * 16)
  for (let block = 0; block < blocks; block++) {
    const from = block * BLOCK_BYTES + 2
    for (let j = 0; j < 8; j++) {
      const [even, odd] = [q4[from + 2 * j] ?? 0, q4[from + 2 * j + 1] ?? 0]
      codes[block * 16 + j] = (even & 15) | ((odd & 15) << 4)
      codes[block * 16 + 8 + j] = (even >> 4) | (odd & 0xf0)
    }
  }
  return { codes, scales: blockScales(q4) }
}

export interface EightBit {
  /** [n][k] */
  readonly codes: Int8Array
  /** [n] */
  readonly scales: Float32Array
}

/** Symmetric, one scale per row: absmax / 127. */
export function eightBit(q4: Uint8Array, k: number): EightBit {
  const n = ((q4.byteLength / BLOCK_BYTES) * BLOCK) / k
  const blockScale = blockScales(q4)
  const blocks = k / BLOCK
  const codes = new Int8Array(n * k)
  const scales = new Float32Array(n)
  const row = new Float32Array(k)
  for (let r = 0; r < n; r++) {
    let most = 0
    for (let b = 0; b < blocks; b++) {
      const block = r * blocks + b
      const scale = blockScale[block] ?? 0
      for (let j = 0; j < 16; j++) {
        const byte = q4[block * BLOCK_BYTES + 2 + j] ?? 0
        const low = scale * ((byte & 15) - 8)
        const high = scale * ((byte >> 4) - 8)
        row[b * BLOCK + j] = low
        row[b * BLOCK + j + 16] = high
        most = Math.max(most, Math.abs(low), Math.abs(high))
      }
    }
    const scale = most / 127
    scales[r] = scale
    const inverse = most === 0 ? 0 : 127 / most
    for (let c = 0; c < k; c++) codes[r * k + c] = Math.round((row[c] ?? 0) * inverse)
  }
  return { codes, scales }
}

/** [n][k] to [k][n]. */
export function transposed(codes: Int8Array, k: number): Int8Array {
  const n = codes.length / k
  const out = new Int8Array(codes.length)
  for (let c = 0; c < k; c++) {
    for (let r = 0; r < n; r++) out[c * n + r] = codes[r * k + c] ?? 0
  }
  return out
}

function blockScales(q4: Uint8Array): Float32Array {
  const view = new DataView(q4.buffer, q4.byteOffset, q4.byteLength)
  return Float32Array.from({ length: q4.byteLength / BLOCK_BYTES }, (_, block) =>
    halfToFloat(view.getUint16(block * BLOCK_BYTES, true)),
  )
}
