// Scaled bytes. In: a matrix in FP8 or INT8, and its scales. Out: the matrix as F32 rows, to be stored in 8
// bits.
//
//   W[n][i] = scale[n / a][i / b] * value[n][i], rounded once to f32; blocks of a x b share a scale
//
// The matrix is stored as w8_g32. The error is at most half a step: max |W| / 254 of each group of 32.
import { halfTable } from '../../base/half.ts'
import { malformed, shown } from '../malformed.ts'
import type { TensorInfo } from '../tensors.ts'
import { floatsOf, virtual } from './packed-ints.ts'
import type { StoredDType, StoredTensor } from './safetensors.ts'

/** The value of each of the 256 bytes. E4M3 has no infinities; E5M2 is the upper byte of an f16. */
function levelsOf(dtype: StoredDType): Float32Array {
  return Float32Array.from({ length: 256 }, (_, byte) => {
    if (dtype === 'I8') return (byte << 24) >> 24
    if (dtype === 'F8_E5M2') return halfTable()[byte << 8]!
    const [exponent, mantissa] = [(byte >>> 3) & 15, byte & 7]
    if ((byte & 127) === 127) return Number.NaN
    const size = exponent === 0 ? mantissa * 2 ** -9 : (8 + mantissa) * 2 ** (exponent - 10)
    return byte > 127 ? -size : size
  })
}

/**
 * `scale` holds one scale for the whole matrix, for each output, or for each block of `block` [rows,
 * columns]. Throws `format` when its shape is none of these.
 */
export function scaledBytes(
  weight: StoredTensor,
  scale: StoredTensor | undefined,
  block: readonly number[] = [128, 128],
): TensorInfo {
  const { name, dtype, shape, source: file } = weight
  const [n = 1, k = 1] = shape
  const [down = 1, across = 1] = scale?.shape ?? []
  const a = down === 1 ? n : down === n ? 1 : (block[0] ?? 0)
  const b = across === 1 ? k : (block[1] ?? 0)
  if (shape.length !== 2 || Math.ceil(n / a) !== down || Math.ceil(k / b) !== across) {
    throw malformed(
      file.name,
      `the scales of ${shown(name)} [${shape}] are [${scale?.shape}], not one, one for each row or one for each block of [${block}]`,
    )
  }
  const levels = levelsOf(dtype)
  const read = async (offset: number, length: number, signal?: AbortSignal) => {
    const first = offset / (4 * k)
    const bytes = await file.read(weight.offset + offset / 4, length / 4, signal)
    const scales = scale && floatsOf(scale, await scale.source.read(scale.offset, scale.byteLength, signal))
    const out = new Float32Array(length / 4)
    for (let at = 0; at < out.length; ) {
      const row = Math.floor((first + at / k) / a) * across
      for (let i = 0; i < k; i++, at++) {
        out[at] = levels[bytes[at]!]! * (scales?.[row + Math.floor(i / b)] ?? 1)
      }
    }
    return new Uint8Array(out.buffer)
  }
  return { ...virtual(file.name, name, 'F32', shape, 4 * n * k, read), like: 'Q8_0' }
}
