// Values that callers pass to a network and get from it: tensors, strings and lists of both, and their
// checks.
import { checkList, shown, wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { isCount, isObject } from '../../core/base/values.ts'
import { arrayOf, countOf, type Elements, type NumberDType, type Tensor } from '../onnx/ir/tensor.ts'
import { sequenceOf, stringTensor, textsOf } from '../onnx/ir/values.ts'

/** The type of a tensor's elements. */
export type NetworkDType = NumberDType

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

/** A tensor of strings. */
export interface NetworkStrings {
  readonly dtype: 'string'
  /** Sizes of the axes; empty for a single string. */
  readonly dims: readonly number[]
  /** The strings, in row-major order. */
  readonly data: readonly string[]
}

/** What a network returns for an output: a tensor, or for a sequence a list of tensors. */
export type NetworkResult = NetworkTensor | NetworkStrings | readonly (NetworkTensor | NetworkStrings)[]

/** What a network takes for an input. `undefined` is an optional value that is absent. */
export type NetworkInput = NetworkResult | undefined

/** What an input takes. */
interface Taken {
  readonly name: string
  /** Undefined if any is right. */
  readonly dtype: NetworkDType | 'string' | undefined
  readonly isSequence?: true | undefined
}

/**
 * The value of an input. Throws `unsupported` for anything other than a tensor of its dtype, or a list of
 * such tensors for a sequence; the error names the input.
 */
export function valueFrom({ name, dtype, isSequence }: Taken, value: unknown): Tensor {
  if (!isSequence) return tensorFrom(name, value, dtype)
  const what = `the input ${name}`
  if (!Array.isArray(value)) throw wrongOption(what, value, 'a list of tensors { dtype, dims, data }')
  checkList(what, value)
  return sequenceOf(value.map((each, at) => tensorFrom(`${name}[${at}]`, each, dtype ?? dtypeOf(each))))
}

const dtypeOf = (value: unknown): Taken['dtype'] =>
  isObject(value) ? (value['dtype'] as Taken['dtype']) : undefined

/** The caller's form of a value. */
export function resultOf({ items, ...tensor }: Tensor): NetworkResult {
  if (items !== undefined) return items.map((item) => resultOf(item) as NetworkTensor | NetworkStrings)
  const { dtype, dims, data } = tensor
  if (dtype === 'string') return { dtype, dims, data: textsOf(tensor) }
  return { dtype: dtype as NetworkDType, dims, data }
}

function tensorFrom(name: string, value: unknown, dtype: Taken['dtype']): Tensor {
  if (!isObject(value)) throw wrongOption(`the input ${name}`, value, 'a tensor { dtype, dims, data }')
  const { dtype: given, dims, data } = value
  if (dtype === undefined || given !== dtype)
    throw wrongOption(`the dtype of the input ${name}`, given, dtype ?? 'a dtype')
  checkList(`the dims of the input ${name}`, dims)
  if (!dims.every(isCount)) throw wrongOption(`the dims of the input ${name}`, dims, 'a list of sizes')
  const sizes = [...(dims as number[])]
  if (dtype === 'string') {
    const what = `the data of the input ${name}`
    checkList(what, data)
    if (!data.every((each) => typeof each === 'string')) throw wrongOption(what, data, 'a list of strings')
    checkCount(name, data.length, sizes)
    return stringTensor(sizes, data as string[])
  }
  const due = arrayOf(dtype, 0)
  const isArray = ArrayBuffer.isView(data) && Object.getPrototypeOf(data) === Object.getPrototypeOf(due)
  if (!isArray)
    throw new HalfbyteError(
      'unsupported',
      `the data of the input ${name} is ${shown(data)} but must be a ${due.constructor.name} for ${dtype}; convert it`,
      { name, dtype },
    )
  checkCount(name, (data as Elements).length, sizes)
  return { dtype, dims: sizes, data: data as Elements }
}

function checkCount(name: string, length: number, dims: readonly number[]): void {
  const count = countOf(dims)
  if (length === count) return
  throw new HalfbyteError(
    'unsupported',
    `the input ${name} has ${length} elements but its dims [${dims}] need ${count}; correct the dims or the data`,
    { name, length, count },
  )
}
