// Codes in files, for tests. In: numbers. Out: constants stored in a file, and the values of the rows read
// from them.
import { bufferSource } from '../../../core/base/bytes.ts'
import { halfToFloat } from '../../../core/base/half.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import type { Constant } from '../ir/graph.ts'
import { BITS, type DType } from '../ir/tensor.ts'

/** Floats or integers; two 4-bit integers share a byte. */
export function storedNumbers(dtype: DType, dims: readonly number[], values: readonly number[]): Constant {
  const bytes =
    dtype === 'f32'
      ? new Uint8Array(Float32Array.from(values).buffer)
      : BITS[dtype] === 8
        ? Uint8Array.from(values, (value) => value & 255)
        : Uint8Array.from(
            { length: Math.ceil(values.length / 2) },
            (_, at) => (values[2 * at]! & 15) | (((values[2 * at + 1] ?? 0) & 15) << 4),
          )
  const padded = new Uint8Array(bytes.length + 3)
  padded.set(bytes, 3)
  return { dtype, dims, source: bufferSource('weights.bin', padded), offset: 3, byteLength: bytes.length }
}

/** Rows [first, end) as floats. */
export async function valuesOf(
  { dtype, shape: [n = 0, k = 0], source, byteLength }: TensorInfo,
  first: number,
  end: number,
): Promise<number[]> {
  const width = byteLength / n
  const bytes = (await source.read(first * width, (end - first) * width)).slice()
  const view = new DataView(bytes.buffer)
  const half = (at: number) => halfToFloat(view.getUint16(at, true))
  return Array.from({ length: (end - first) * k }, (_, at) => {
    if (dtype === 'F32') return view.getFloat32(4 * at, true)
    const group = Math.floor(at / 32)
    const place = at % 32
    const size = { Q8_0: 34, Q4_0: 18, Q4_1: 20 }[dtype as 'Q8_0']!
    const start = group * size
    if (dtype === 'Q8_0') return half(start) * view.getInt8(start + 2 + place)
    const byte = view.getUint8(start + size - 16 + (place % 16))
    const code = place < 16 ? byte & 15 : byte >> 4
    return dtype === 'Q4_0' ? half(start) * (code - 8) : half(start) * code + half(start + 2)
  })
}
