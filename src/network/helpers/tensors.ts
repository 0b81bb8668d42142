// Tensors that callers pass to a network, and their checks.
import { checkList, shown, wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { isCount, isObject } from '../../core/base/values.ts'
import { arrayOf, countOf, type DType, type Elements } from '../onnx/ir/tensor.ts'

/** The type of a tensor's elements. */
export type NetworkDType = DType

/**
 * Elements in row-major order. `data` is the typed array of the dtype: `Float32Array` for `f32`, `f16` and
 * `bf16`, `BigInt64Array` for `i64`, `Uint8Array` for `bool` and `u8`, and so on.
 */
export interface NetworkTensor {
  /** The type of the elements. */
  readonly dtype: NetworkDType
  /** Sizes of the axes; empty for a single number. */
  readonly dims: readonly number[]
  /** The elements, in row-major order. */
  readonly data: Elements
}

/** Throws `unsupported` for anything other than a tensor of this dtype; the error names the input. */
export function checkTensor(name: string, value: unknown, dtype: DType): NetworkTensor {
  if (!isObject(value)) throw wrongOption(`the input ${name}`, value, 'a tensor { dtype, dims, data }')
  const { dtype: given, dims, data } = value
  if (given !== dtype) throw wrongOption(`the dtype of the input ${name}`, given, dtype)
  checkList(`the dims of the input ${name}`, dims)
  if (!dims.every(isCount)) throw wrongOption(`the dims of the input ${name}`, dims, 'a list of sizes')
  const due = arrayOf(dtype, 0)
  const isArray = ArrayBuffer.isView(data) && Object.getPrototypeOf(data) === Object.getPrototypeOf(due)
  if (!isArray)
    throw new HalfbyteError(
      'unsupported',
      `the data of the input ${name} is ${shown(data)} but must be a ${due.constructor.name} for ${dtype}; convert it`,
      { name, dtype },
    )
  const count = countOf(dims as number[])
  const { length } = data as Elements
  if (length !== count)
    throw new HalfbyteError(
      'unsupported',
      `the input ${name} has ${length} elements but its dims [${dims}] need ${count}; correct the dims or the data`,
      { name, length, count },
    )
  return { dtype, dims: [...(dims as number[])], data: data as Elements }
}
