// Reads the codes of constants: the code and the scale of each element, or packed codes as integers.
import { stridesOf, type Tensor } from '../../onnx/ir/tensor.ts'
import { type BlockCodes, type Codes, type Packing, SIGNED_MIDDLE } from '../loops/loops.ts'

/** The element at row-major index `at` is code(at) * scale(at). */
export interface Coded {
  /** The code minus its zero point. */
  code(at: number): number
  scale(at: number): number
  /** All elements as floats. */
  floats(): Float32Array
}

/** Codes with a single scale and zero point, or with one of each per index of an axis. */
export function codedBy({ dims, data }: Tensor, { axis, scale, zero }: Codes): Coded {
  const step = stridesOf(dims)[axis] ?? 1
  const size = dims[axis] ?? 1
  const of = (list: readonly number[], at: number): number =>
    list.length === 1 ? list[0]! : list[Math.floor(at / step) % size]!
  return {
    code: (at) => Number(data[at]) - of(zero, at),
    scale: (at) => of(scale, at),
    floats() {
      // A run has one scale and one zero point. Reading both for each element would take ten times as long.
      const isOne = scale.length === 1 && zero.length === 1
      const run = isOne ? data.length : step
      const made = new Float32Array(data.length)
      for (let start = 0; start < data.length; start += run) {
        const middle = of(zero, start)
        const factor = of(scale, start)
        const end = Math.min(start + run, data.length)
        for (let at = start; at < end; at++) made[at] = (Number(data[at]) - middle) * factor
      }
      return made
    },
  }
}

/** Codes in rows of blocks. */
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
  // Each row of zero points begins at a byte boundary.
  const zeroStride = isHalf ? Math.ceil(blocks / 2) * 2 : blocks
  const zero = (row: number, each: number): number => {
    if (zeros === undefined) return 2 ** (bits - 1)
    const at = row * zeroStride + each
    return isHalf ? nibble(zeros.data, at) : Number(zeros.data[at])
  }
  const placeOf = (at: number) => ({ row: Math.floor(at / k), each: Math.floor((at % k) / block) })
  const code = (at: number): number => (isHalf ? nibble(data, at) : Number(data[at]))
  return {
    code: (at) => {
      const { row, each } = placeOf(at)
      return code(at) - zero(row, each)
    },
    scale: (at) => {
      const { row, each } = placeOf(at)
      return Number(scales[row * blocks + each])
    },
    floats() {
      const rows = scales.length / blocks
      const made = new Float32Array(rows * k)
      for (let row = 0; row < rows; row++)
        for (let each = 0; each < blocks; each++) {
          const middle = zero(row, each)
          const factor = Number(scales[row * blocks + each])
          const start = row * k + each * block
          for (let at = start; at < start + block; at++) made[at] = (code(at) - middle) * factor
        }
      return made
    },
  }
}

/** Packed bytes, or 4-bit codes with one element each, as integers that loops read. */
export function packed(tensor: Tensor, packing: Packing): Tensor {
  const { dtype, data } = tensor
  const isApart = dtype === 'i4' || dtype === 'u4'
  if (packing === 'nibbles') {
    if (isApart) return tensor
    const count = 2 * data.length
    const made = Int32Array.from({ length: count }, (_, at) => (Number(data[at >> 1]) >> (4 * (at & 1))) & 15)
    return { dtype: 'i32', dims: [count], data: made }
  }
  const bytes = isApart ? joinedNibbles(data, dtype === 'i4' ? SIGNED_MIDDLE : 0) : (data as Uint8Array)
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice()
  const words = new Int32Array(buffer, byteOffset, bytes.length / 4)
  return { dtype: 'i32', dims: [words.length], data: words }
}

const joinedNibbles = (data: Tensor['data'], middle: number): Uint8Array =>
  Uint8Array.from(
    { length: data.length / 2 },
    (_, at) => (Number(data[2 * at]) + middle) | ((Number(data[2 * at + 1]) + middle) << 4),
  )
