// Which numbers of a graph can be represented in memory, where every element has four bytes.
import type { DType, Elements } from '../../onnx/ir/tensor.ts'

const MAX = 2 ** 31 - 1
const LEAST = -(2 ** 31)

/** Why such a number is rejected, as a clause. */
export const WHY_UNHELD = 'which the compiler cannot represent: i64 are computed in 32 bits, f64 as f32'

/** The first number that memory cannot represent: i64 beyond 32 bits, f64 beyond f32. */
export function unheldOf(dtype: DType, data: Elements): number | bigint | undefined {
  if (dtype === 'i64') {
    const words = wordsOf(data as BigInt64Array)
    for (let at = 0; at < data.length; at++) if (words[2 * at + 1] !== words[2 * at]! >> 31) return data[at]
    return undefined
  }
  if (dtype !== 'f64') return undefined
  return (data as Float64Array).find(
    (value) => Number.isFinite(value) && !Number.isFinite(Math.fround(value)),
  )
}

/**
 * The halves of 64-bit numbers, low half first. Creating a bigint for each number would take ten times as
 * long.
 */
export const wordsOf = ({ buffer, byteOffset, length }: BigInt64Array | BigUint64Array): Int32Array =>
  new Int32Array(buffer, byteOffset, 2 * length)

export const limitedTo32 = (value: number): number => Math.max(LEAST, Math.min(MAX, Math.trunc(value)))
