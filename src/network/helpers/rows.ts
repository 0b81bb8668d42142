// Numbers that a caller passes to a helper, as rows: a tensor along its last axis, or a list as one row.
import { wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { isObject } from '../../core/base/values.ts'
import type { NetworkTensor } from './tensors.ts'

/** Numbers of a run's output: the tensor, or a list or typed array as a single row. */
export type Numbers = NetworkTensor | ArrayLike<number>

export interface Rows {
  readonly data: ArrayLike<number>
  /** Sizes of all axes; one for a list. */
  readonly dims: readonly number[]
}

/** Throws `unsupported` for anything other than a tensor or a list of numbers, and for integers of 64 bits. */
export function rowsOf(name: string, value: unknown): Rows {
  const { dims: stated, data = value } = isTensor(value) ? value : { dims: undefined }
  if (!isList(data) || typeof data[0] === 'bigint')
    throw wrongOption(name, value, 'a tensor of floats or 32-bit integers, or a list of numbers')
  const dims = stated ?? [data.length]
  const count = dims.reduce((product, size) => product * size, 1)
  if (count === data.length) return { data, dims }
  throw new HalfbyteError(
    'unsupported',
    `${name} has ${data.length} numbers but its dims [${dims}] need ${count}; pass an output as it is`,
    { name, length: data.length, count },
  )
}

/** The numbers of a single row. Throws `unsupported` for a tensor with several. */
export function oneRow(name: string, value: unknown): ArrayLike<number> {
  const { data, dims } = rowsOf(name, value)
  if (dims.slice(0, -1).every((size) => size === 1)) return data
  throw wrongOption(name, `a tensor with dims [${dims}]`, 'a single row; pass part of its data')
}

const isTensor = (value: unknown): value is NetworkTensor => isObject(value) && Array.isArray(value['dims'])

const isList = (value: unknown): value is ArrayLike<number> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value)
