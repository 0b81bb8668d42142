// The slow reference. In: stored or packed bytes. Out: one weight at a time, by the formulas of ggml and
// wasm/core/abi.h.

import type { Encoding } from '../../abi/encodings.ts'
import { halfToFloat } from '../../base/half.ts'
import type { DType } from '../../formats/tensors.ts'

const half = (view: DataView, at: number) => halfToFloat(view.getUint16(at, true))
const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function bfloat(bits: number): number {
  const view = new DataView(new ArrayBuffer(4))
  view.setUint32(0, bits << 16)
  return view.getFloat32(0)
}

/**
 * Weight [n][k] of a stored [rows, K] tensor, as defined by the dequantize_row functions of ggml-quants.c.
 */
function storedWeight(dtype: DType, bytes: Uint8Array, K: number, n: number, k: number): number {
  const view = viewOf(bytes)
  const index = n * K + k
  const i = index % 32
  const block = Math.floor(index / 32)
  const nibble = (at: number) => (i < 16 ? view.getUint8(at + i) & 15 : view.getUint8(at + i - 16) >> 4)
  switch (dtype) {
    case 'F32':
      return view.getFloat32(index * 4, true)
    case 'F16':
      return half(view, index * 2)
    case 'BF16':
      return bfloat(view.getUint16(index * 2, true))
    case 'Q8_0':
      return half(view, block * 34) * view.getInt8(block * 34 + 2 + i)
    case 'Q4_0':
      return half(view, block * 18) * (nibble(block * 18 + 2) - 8)
    default:
      return half(view, block * 20) * nibble(block * 20 + 4) + half(view, block * 20 + 2)
  }
}

/** Weight [n][k] of a packed [N32, K] matrix, as defined in wasm/core/abi.h. */
export function packedWeight(encoding: Encoding, bytes: Uint8Array, K: number, n: number, k: number): number {
  const view = viewOf(bytes)
  const panel = Math.floor(n / 8)
  const row = n % 8
  if (encoding === 'f32') return view.getFloat32(((panel * K + k) * 8 + row) * 4, true)
  if (encoding === 'f16') return half(view, ((panel * K + k) * 8 + row) * 2)
  if (encoding === 'bf16') return bfloat(view.getUint16(((panel * K + k) * 8 + row) * 2, true))
  const G = Math.ceil(K / 32)
  if (encoding === 'w2_g256') {
    const run = panel * (64 * G + 16 * Math.ceil(G / 8)) + 528 * Math.floor(k / 256)
    const at = run + 16 + 16 * Math.floor((k % 256) / 8) + 4 * (row % 4) + (k % 4)
    const code = ((view.getUint8(at) >> (k % 8 >= 4 ? 4 : 0)) >> (row >= 4 ? 2 : 0)) & 3
    return (half(view, run + 4 * (row % 4) + (row >= 4 ? 2 : 0)) / 2 ** 8) * (code - 1)
  }
  const isChannel = encoding === 'w4_channel'
  const size = { w4_g32: 144, w4m_g32: 160, w8_g32: 272, w4_channel: 128 }[encoding]
  const first = panel * (G * size + (isChannel ? 16 : 0))
  const block = first + Math.floor(k / 32) * size
  const j = Math.floor((k % 32) / 4)
  const input = k % 4
  const pair = (at: number) => half(view, at + 4 * (row % 4) + (row >= 4 ? 2 : 0)) / 2 ** 8
  const scale = pair(isChannel ? first : block)
  if (encoding === 'w8_g32') {
    const vector = block + 16 + 16 * (2 * j + (row >= 4 ? 1 : 0))
    return scale * (view.getUint8(vector + 4 * (row % 4) + input) - 128)
  }
  const vectors = block + (encoding === 'w4m_g32' ? 32 : 16)
  const byte = view.getUint8(vectors + 16 * j + 4 * (row % 4) + input)
  const code = row >= 4 ? byte >> 4 : byte & 15
  return encoding === 'w4m_g32' ? scale * code + pair(block + 16) : scale * (code - 8)
}

/** All weights of a packed matrix, [n][k]. */
export function packedMatrix(encoding: Encoding, bytes: Uint8Array, N: number, K: number): Float32Array {
  return Float32Array.from({ length: N * K }, (_, at) =>
    packedWeight(encoding, bytes, K, Math.floor(at / K), at % K),
  )
}

/** All weights of a stored matrix, [n][k]. */
export function storedMatrix(dtype: DType, bytes: Uint8Array, N: number, K: number): Float32Array {
  return Float32Array.from({ length: N * K }, (_, at) =>
    storedWeight(dtype, bytes, K, Math.floor(at / K), at % K),
  )
}
