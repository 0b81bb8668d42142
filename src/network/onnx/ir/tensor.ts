// Tensors in memory, as evaluators read and create them, and their dtypes.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { floatToHalf, halfToFloat } from '../../../core/base/half.ts'
import { isMiniFloat, toMiniFloat } from './mini-floats.ts'

/** Element types. The names are our own; `DTYPES` maps TensorProto's numbers to them. */
export type DType = NumberDType | 'string' | 'sequence' | 'none'

/** Element types of tensors of numbers. */
export type NumberDType = keyof typeof ARRAYS

export type Elements =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array

/**
 * Elements in row-major order. Floats of fewer bits are held as f32, rounded to the dtype; integers of 4 and
 * 2 bits have one element per byte; bool is 0 or 1. Strings are held as indices into `strings`, so that
 * whatever moves or compares elements needs no second form.
 *
 * `sequence` and `none` are the values of ONNX that are not tensors: a list of tensors, and an optional value
 * that is absent. They have no elements, and only operators whose schema names these dtypes read them.
 */
export interface Tensor {
  readonly dtype: DType
  /** Of a sequence: its length. */
  readonly dims: readonly number[]
  readonly data: Elements
  /** Of a tensor of strings; the first one is empty, because new tensors are filled with zeros. */
  readonly strings?: readonly string[]
  /** Of a sequence. */
  readonly items?: readonly Tensor[]
}

const ARRAYS = {
  f32: Float32Array,
  f64: Float64Array,
  f16: Float32Array,
  bf16: Float32Array,
  f8e4m3fn: Float32Array,
  f8e4m3fnuz: Float32Array,
  f8e5m2: Float32Array,
  f8e5m2fnuz: Float32Array,
  f8e8m0: Float32Array,
  f4e2m1: Float32Array,
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  i4: Int8Array,
  u4: Uint8Array,
  i2: Int8Array,
  u2: Uint8Array,
  bool: Uint8Array,
} as const

const ALL_ARRAYS = { ...ARRAYS, string: Int32Array, sequence: Int32Array, none: Int32Array } as const

/** Bits per element in files; those of strings are listed one by one. */
export const BITS: Readonly<Record<DType, number>> = {
  f32: 32,
  f64: 64,
  f16: 16,
  bf16: 16,
  f8e4m3fn: 8,
  f8e4m3fnuz: 8,
  f8e5m2: 8,
  f8e5m2fnuz: 8,
  f8e8m0: 8,
  f4e2m1: 4,
  i8: 8,
  u8: 8,
  i16: 16,
  u16: 16,
  i32: 32,
  u32: 32,
  i64: 64,
  u64: 64,
  i4: 4,
  u4: 4,
  i2: 2,
  u2: 2,
  bool: 8,
  string: 32,
  sequence: 32,
  none: 32,
}

/** The numbers of TensorProto.DataType, except that of strings, which no operator makes of numbers. */
export const DTYPES: ReadonlyMap<number, DType> = new Map<number, DType>([
  ...([
    [1, 'f32'],
    [2, 'u8'],
    [3, 'i8'],
    [4, 'u16'],
    [5, 'i16'],
    [6, 'i32'],
    [7, 'i64'],
    [9, 'bool'],
  ] as const),
  ...([
    [10, 'f16'],
    [11, 'f64'],
    [12, 'u32'],
    [13, 'u64'],
    [16, 'bf16'],
    [17, 'f8e4m3fn'],
    [18, 'f8e4m3fnuz'],
    [19, 'f8e5m2'],
    [20, 'f8e5m2fnuz'],
    [23, 'f4e2m1'],
    [24, 'f8e8m0'],
    [25, 'u2'],
    [26, 'i2'],
    [21, 'u4'],
    [22, 'i4'],
  ] as const),
])

/** The number of each dtype. */
export const DTYPE_NUMBERS: ReadonlyMap<DType, number> = new Map(
  [...DTYPES].map(([number, dtype]) => [dtype, number]),
)

/** That of strings. */
export const STRING = 8

/** The element type of a tensor in a file. */
export const dtypeNumbered = (number: number): DType | undefined =>
  number === STRING ? 'string' : DTYPES.get(number)

export const FLOATS: readonly DType[] = ['f32', 'f64', 'f16', 'bf16']
export const INTEGERS: readonly DType[] = ['i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64']
export const NUMBERS: readonly DType[] = [...FLOATS, ...INTEGERS]
/** Of tensors of numbers, which the compiler reads. */
export const ALL_DTYPES = Object.keys(ARRAYS) as readonly DType[]
/** Of tensors that operators only move or compare. */
export const MOVED_DTYPES: readonly DType[] = [...ALL_DTYPES, 'string']
/** Of all values. */
export const VALUE_DTYPES: readonly DType[] = [...MOVED_DTYPES, 'sequence', 'none']

export const isFloat = (dtype: DType): boolean => FLOATS.includes(dtype) || isMiniFloat(dtype)
export const isBig = (dtype: DType): boolean => dtype === 'i64' || dtype === 'u64'

export function countOf(dims: readonly number[]): number {
  let count = 1
  for (let axis = 0; axis < dims.length; axis++) count *= dims[axis]!
  return count
}

/** Maximum elements of a tensor created in memory: masks and tables, not weights. */
export const MAX_ELEMENTS = 2 ** 24

/** Maximum number of axes of a value. */
export const MAX_AXES = 64

/**
 * The number of elements to allocate. Throws `format` for invalid sizes, `out-of-memory` above
 * `MAX_ELEMENTS`.
 */
export function countToMake(dims: readonly number[]): number {
  const count = countOf(dims)
  const isShape = dims.every((size) => size >= 0 && (Number.isSafeInteger(size) || size > MAX_ELEMENTS))
  if (isShape && count <= MAX_ELEMENTS) return count
  throw new HalfbyteError(
    isShape ? 'out-of-memory' : 'format',
    `a graph computes a value of shape [${dims}], but the maximum is ${MAX_ELEMENTS} elements; use another export`,
    { count, most: MAX_ELEMENTS },
  )
}

/** A new tensor. Those of numbers have one type, whatever their dtype. */
type Made<D extends DType> = Tensor & { readonly dtype: D extends NumberDType ? NumberDType : D }

/** A tensor of zeros. Throws what `countToMake` throws. */
export function zeros<D extends DType>(dtype: D, dims: readonly number[]): Made<D> {
  return { dtype, dims, data: arrayOf(dtype, countToMake(dims)) } as Made<D>
}

/** An array of the dtype's class. */
export const arrayOf = (dtype: DType, length: number): Elements => new ALL_ARRAYS[dtype](length)

/** Whether elements are held in memory as files store them. */
const isHeldAsStored = (dtype: DType): boolean =>
  BITS[dtype] >= 8 && dtype !== 'f16' && dtype !== 'bf16' && !isMiniFloat(dtype)

/** An array over stored elements, without a copy. Undefined if they are held in another form or unaligned. */
export function arrayOver(
  dtype: DType,
  { buffer, byteOffset, byteLength }: Uint8Array,
): Elements | undefined {
  const size = BITS[dtype] / 8
  if (!isHeldAsStored(dtype) || byteOffset % size !== 0) return undefined
  return new ALL_ARRAYS[dtype](buffer as ArrayBuffer, byteOffset, byteLength / size)
}

/** Integers that do not fit wrap, as in C; bool becomes 0 or 1. Fractions are truncated. */
export function tensorOf<D extends DType>(
  dtype: D,
  dims: readonly number[],
  values: ArrayLike<number | bigint>,
): Made<D> {
  const made = zeros(dtype, dims)
  const write = writer(made)
  const { data } = made
  for (let index = 0; index < values.length; index++) {
    const value = values[index]!
    if (typeof value === 'bigint' && (data instanceof BigInt64Array || data instanceof BigUint64Array))
      data[index] = value
    else write(index, Number(value))
  }
  return made
}

/** The element at an index, as a number. 64-bit integers lose precision beyond 2^53. */
export function reader({ data }: Tensor): (index: number) => number {
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) return (index) => Number(data[index])
  return (index) => data[index]!
}

/** Stores a number, converted to the tensor's dtype. 64-bit integers are clamped. */
export function writer({ dtype, data }: Tensor): (index: number, value: number) => void {
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    const [least, most] = dtype === 'i64' ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n]
    const [low, high] = [Number(least), Number(most)]
    return (index, value) => {
      if (value >= high) data[index] = most
      else if (value <= low) data[index] = least
      else data[index] = Number.isNaN(value) ? 0n : BigInt(Math.trunc(value))
    }
  }
  if (dtype === 'bool') {
    return (index, value) => {
      data[index] = value === 0 ? 0 : 1
    }
  }
  const round = rounder(dtype)
  return (index, value) => {
    data[index] = round(value)
  }
}

/** All elements as numbers. */
export const numbersOf = (tensor: Tensor): number[] => Array.from(tensor.data as ArrayLike<number>, Number)

const FLOAT = new Float32Array(1)
const WORD = new Uint32Array(FLOAT.buffer)

/** Rounds to nearest even. */
function toBfloat16(value: number): number {
  FLOAT[0] = value
  const word = WORD[0]!
  if (Number.isNaN(value)) return Number.NaN
  WORD[0] = ((word + 0x7fff + ((word >>> 16) & 1)) & 0xffff0000) >>> 0
  return FLOAT[0]!
}

export const bfloat16Of = (pattern: number): number => {
  WORD[0] = (pattern << 16) >>> 0
  return FLOAT[0]!
}

/**
 * Rounds to the nearest value of the dtype. Returns the value unchanged if the dtype's array class rounds it.
 */
export function rounder(dtype: DType): (value: number) => number {
  if (dtype === 'f16') return (value) => halfToFloat(floatToHalf(value))
  if (dtype === 'bf16') return toBfloat16
  if (isMiniFloat(dtype)) return (value) => toMiniFloat(dtype, value)
  return (value) => value
}

/** Row-major strides: [.., d1 * d2, d2, 1]. */
export function stridesOf(dims: readonly number[]): number[] {
  const strides: number[] = []
  let step = 1
  for (let axis = dims.length - 1; axis >= 0; axis--) {
    strides[axis] = step
    step *= dims[axis]!
  }
  return strides
}

/** Whether two lists hold the same numbers in the same order. */
export function isSameList(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return false
  return true
}
