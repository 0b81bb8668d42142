// Reads codes of constants: the code and the scale of each element.
import { stridesOf, type Tensor } from '../../onnx/ir/tensor.ts'
import type { BlockCodes, Codes } from '../loops/program.ts'

/** Element `at` in row order is code(at) * scale(at). */
export interface Coded {
  /** Without its zero point. */
  code(at: number): number
  scale(at: number): number
}

/** Codes with one scale and zero point for all, or for each index of an axis. */
export function codedBy({ dims, data }: Tensor, { axis, scale, zero }: Codes): Coded {
  const step = stridesOf(dims)[axis] ?? 1
  const size = dims[axis] ?? 1
  const of = (list: readonly number[], at: number): number =>
    list.length === 1 ? list[0]! : list[Math.floor(at / step) % size]!
  return {
    code: (at) => Number(data[at]) - of(zero, at),
    scale: (at) => of(scale, at),
  }
}

/** Rows of blocks. */
export function codedInBlocks(
  { data }: Tensor,
  { bits, block, k }: BlockCodes,
  { data: scales }: Tensor,
  zeros: Tensor | undefined,
): Coded {
  const blocks = k / block
  const nibble = (of: ArrayLike<number | bigint>, at: number): number =>
    (Number(of[at >> 1]) >> (4 * (at & 1))) & 15
  const isHalf = bits === 4
  // Rows of zero points begin at whole bytes.
  const zeroStride = isHalf ? Math.ceil(blocks / 2) * 2 : blocks
  const zero = (row: number, each: number): number => {
    if (zeros === undefined) return 2 ** (bits - 1)
    const at = row * zeroStride + each
    return isHalf ? nibble(zeros.data, at) : Number(zeros.data[at])
  }
  const placeOf = (at: number) => ({ row: Math.floor(at / k), each: Math.floor((at % k) / block) })
  return {
    code: (at) => {
      const { row, each } = placeOf(at)
      return (isHalf ? nibble(data, at) : Number(data[at])) - zero(row, each)
    },
    scale: (at) => {
      const { row, each } = placeOf(at)
      return Number(scales[row * blocks + each])
    },
  }
}
