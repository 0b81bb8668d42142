// Reads a TensorProto: a tensor in memory, or the place of its bytes.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { halfTable } from '../../../core/base/half.ts'
import { malformed } from '../../../core/formats/malformed.ts'
import type { Message } from '../../../core/formats/protobuf.ts'
import { isMiniFloat, miniFloatOf } from '../ir/mini-floats.ts'
import {
  arrayOver,
  BITS,
  bfloat16Of,
  countToMake,
  type DType,
  dtypeNumbered,
  type Elements,
  type Tensor,
  zeros,
} from '../ir/tensor.ts'
import { stringTensor } from '../ir/values.ts'

const MAX_RANK = 16
const EXTERNAL = 1
/** Maximum bytes of a string among the elements of a tensor. */
const MAX_STRING = 2 ** 24

/** The fields of a TensorProto, with its bytes as stored. */
export interface TensorFields {
  readonly name: string
  readonly dtype: DType
  readonly dims: readonly number[]
  /** The byte size implied by dims and dtype. */
  readonly byteLength: number
  readonly data: TensorData
}
export type TensorData =
  | { readonly in: 'raw'; readonly bytes: Uint8Array }
  | { readonly in: 'list'; readonly values: readonly (number | bigint)[] }
  | { readonly in: 'strings'; readonly texts: readonly string[] }
  | { readonly in: 'external'; readonly entries: ReadonlyMap<string, string> }
  | { readonly in: 'none' }

/** `raw` replaces field 9 if the caller did not copy those bytes. */
export function readTensorFields(message: Message): TensorFields {
  let name = ''
  let type = 0
  let location = 0
  const dims: number[] = []
  const values: (number | bigint)[] = []
  const texts: string[] = []
  const entries = new Map<string, string>()
  let raw: Uint8Array | undefined
  let floats: Uint8Array | undefined
  const isFirstList = () => floats === undefined && values.length === 0
  message.fields((field) => {
    if (field === 1) message.ints(dims)
    else if (field === 2) type = message.int()
    // A list in one piece has the bytes of raw data.
    else if (field === 4 && message.isPacked && isFirstList()) floats = message.bytes()
    else if (field === 4) message.floats(values as number[])
    else if (field === 5) message.ints(values as number[])
    else if (field === 6) texts.push(message.text(MAX_STRING))
    else if (field === 7 || field === 11) message.bigs(values as bigint[])
    else if (field === 8) name = message.text()
    else if (field === 9) raw = message.bytes()
    else if (field === 10) message.doubles(values as number[])
    else if (field === 13) readEntry(message.message(), entries)
    else if (field === 14) location = message.int()
    else if (field === 3) throw unsupportedTensor(message.file, name, 'is stored in segments')
  })
  const dtype = dtypeOf(message.file, name, type)
  const byteLength = sizeOf(message.file, name, dtype, dims)
  const base = { name, dtype, dims, byteLength }
  if (dtype === 'string') return { ...base, data: { in: 'strings', texts } }
  if (location === EXTERNAL) return { ...base, data: { in: 'external', entries } }
  if (raw !== undefined) return { ...base, data: { in: 'raw', bytes: raw } }
  if (floats !== undefined) {
    if (dtype === 'f32' && values.length === 0 && floats.byteLength === byteLength)
      return { ...base, data: { in: 'raw', bytes: floats } }
    return { ...base, data: { in: 'list', values: [...floatsIn(message, floats), ...values] } }
  }
  return { ...base, data: values.length === 0 ? { in: 'none' } : { in: 'list', values } }
}

function floatsIn(message: Message, bytes: Uint8Array): number[] {
  if (bytes.byteLength % 4 !== 0) throw message.wrong('a list of floats ends within a float')
  return Array.from(new Float32Array(bytes.slice().buffer))
}

function readEntry(message: Message, entries: Map<string, string>): void {
  let key = ''
  let value = ''
  message.fields((field) => {
    if (field === 1) key = message.text()
    if (field === 2) value = message.text()
  })
  entries.set(key, value)
}

export function dtypeOf(file: string, name: string, type: number): DType {
  const dtype = dtypeNumbered(type)
  if (dtype === undefined) throw unsupportedTensor(file, name, `has ONNX data type ${type}`)
  return dtype
}

/** Stored bytes. Throws `format` for dims that are not sizes. */
function sizeOf(file: string, name: string, dtype: DType, dims: readonly number[]): number {
  if (dims.length > MAX_RANK)
    throw malformed(file, `tensor ${name} has ${dims.length} dimensions, but the maximum is ${MAX_RANK}`)
  let count = 1
  for (const size of dims) count *= size
  const bytes = Math.ceil((count * BITS[dtype]) / 8)
  if (dims.some((size) => !Number.isSafeInteger(size) || size < 0) || !Number.isSafeInteger(bytes))
    throw malformed(file, `tensor ${name} has the impossible shape [${dims}]`)
  return bytes
}

/** The tensor in memory. Throws `format` if its number of elements does not match its shape. */
export function tensorFrom(file: string, fields: TensorFields): Tensor {
  const { name, dtype, dims, data, byteLength } = fields
  if (data.in === 'external')
    throw unsupportedTensor(file, name, 'is in another file, but must be in this one')
  if (data.in === 'raw') return tensorFromBytes(file, name, dtype, dims, data.bytes)
  const found = data.in === 'none' ? 0 : data.in === 'strings' ? data.texts.length : data.values.length
  const due = BITS[dtype] < 8 ? byteLength : dims.reduce((product, size) => product * size, 1)
  if (found !== due)
    throw malformed(file, `tensor ${name} has ${found} elements, but its shape [${dims}] needs ${due}`)
  if (data.in === 'strings') return stringTensor(dims, data.texts)
  const made = zeros(dtype, dims)
  const isLong = made.data instanceof BigInt64Array || made.data instanceof BigUint64Array
  if (
    isLong &&
    data.in === 'list' &&
    !data.values.every((value) => typeof value === 'bigint' || Number.isInteger(value))
  )
    throw malformed(file, `tensor ${name} has fractions instead of ${dtype}`)
  if (data.in === 'list') fillFromList(made, data.values)
  return made
}

/**
 * In lists of integers, half floats are stored as bit patterns, and elements below 8 bits as bytes that pack
 * several of them.
 */
function fillFromList({ dtype, data }: Tensor, values: readonly (number | bigint)[]): void {
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    for (const [index, value] of values.entries()) data[index] = BigInt(value)
  } else if (BITS[dtype] < 8) {
    unpackBits(data, dtype, Uint8Array.from(values, Number))
  } else {
    const value = patternReader(dtype)
    for (const [index, each] of values.entries()) data[index] = value(Number(each))
  }
}

function patternReader(dtype: DType): (pattern: number) => number {
  if (dtype === 'f16') return (pattern) => halfTable()[pattern & 0xffff]!
  if (dtype === 'bf16') return bfloat16Of
  if (isMiniFloat(dtype)) return (pattern) => miniFloatOf(dtype, pattern)
  return (value) => value
}

/**
 * Little-endian bytes, as in raw and external data. `isOwn`: nothing else uses the bytes, which the tensor
 * may keep.
 */
export function tensorFromBytes(
  file: string,
  name: string,
  dtype: DType,
  dims: readonly number[],
  bytes: Uint8Array,
  isOwn = false,
): Tensor {
  const due = sizeOf(file, name, dtype, dims)
  if (bytes.byteLength !== due)
    throw malformed(
      file,
      `tensor ${name} has ${bytes.byteLength} bytes, but its shape [${dims}] needs ${due}`,
    )
  const kept = isOwn && countToMake(dims) > 0 ? arrayOver(dtype, bytes) : undefined
  if (kept !== undefined) return { dtype, dims, data: kept }
  const made = zeros(dtype, dims)
  if (BITS[dtype] < 8) unpackBits(made.data, dtype, bytes)
  else if (isMiniFloat(dtype)) {
    const value = patternReader(dtype)
    for (let at = 0; at < made.data.length; at++) made.data[at] = value(bytes[at]!)
  } else if (dtype === 'f16' || dtype === 'bf16') {
    const value = patternReader(dtype)
    for (let at = 0; at < made.data.length; at++)
      made.data[at] = value(bytes[2 * at]! | (bytes[2 * at + 1]! << 8))
  } else new Uint8Array(made.data.buffer).set(bytes)
  return made
}

/** The first of the elements in a byte has the low bits. */
function unpackBits(to: Elements, dtype: DType, bytes: Uint8Array): void {
  const bits = BITS[dtype]
  const perByte = 8 / bits
  const value = isMiniFloat(dtype) ? patternReader(dtype) : undefined
  const isSigned = dtype.startsWith('i')
  for (let at = 0; at < to.length; at++) {
    const pattern = (bytes[Math.floor(at / perByte)]! >> (bits * (at % perByte))) & (2 ** bits - 1)
    to[at] = value?.(pattern) ?? (isSigned && pattern >= 2 ** (bits - 1) ? pattern - 2 ** bits : pattern)
  }
}

function unsupportedTensor(file: string, name: string, what: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: tensor ${name} ${what}, which Halfbyte does not support; export the model with another data type`,
    { file, tensor: name },
  )
}
