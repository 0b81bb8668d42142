// Writes a GGUF file. In: metadata and tensors. Out: the file in chunks, so that it can have any size.
import { joinBytes } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { elementCount, rowBytes } from '../dtypes.ts'
import type { DType } from '../tensors.ts'
import { GGML_DTYPES, GGUF_MAGIC } from './gguf.ts'

/** GGUF's type numbers. */
const TYPES: ReadonlyMap<string, number> = new Map([
  ['u32', 4],
  ['i32', 5],
  ['f32', 6],
  ['bool', 7],
  ['string', 8],
])
const ARRAY = 9
const DTYPE_NUMBERS = new Map([...GGML_DTYPES].map(([number, dtype]) => [dtype, number]))
const VERSION = 3
/** The value that readers assume if the metadata states none. */
const ALIGNMENT = 32

/** A value with its GGUF type: `['u32', 5]`, `['string[]', ['a', 'b']]`. */
export type GgufValue =
  | readonly ['string', string]
  | readonly ['bool', boolean]
  | readonly ['u32' | 'i32' | 'f32', number]
  | readonly ['string[]', readonly string[]]
  | readonly ['i32[]' | 'f32[]', readonly number[]]

export interface GgufTensor {
  readonly name: string
  readonly dtype: DType
  /** Outermost first, as in TensorInfo. */
  readonly shape: readonly number[]
  /** Called once, when the tensor is reached. */
  readonly data: () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>
}

/** Throws `internal` if data has the wrong length, read errors, or the signal's reason. */
export async function* writeGguf(
  metadata: ReadonlyMap<string, GgufValue>,
  tensors: readonly GgufTensor[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const head = [u32(GGUF_MAGIC), u32(VERSION), u64(tensors.length), u64(metadata.size)]
  for (const [key, value] of metadata) head.push(text(key), typed(value))
  let offset = 0
  for (const { name, dtype, shape } of tensors) {
    head.push(tensorEntry(name, shape, dtype, offset))
    const bytes = bytesOf(dtype, shape)
    offset += bytes + padding(bytes, ALIGNMENT).length
  }
  const whole = joinBytes(head)
  yield whole
  yield padding(whole.length, ALIGNMENT)
  for (const { name, dtype, shape, data } of tensors) {
    signal.throwIfAborted()
    const due = bytesOf(dtype, shape)
    let came = 0
    for await (const chunk of data()) {
      came += chunk.length
      yield chunk
    }
    if (came !== due) throw new HalfbyteError('internal', `${name}: got ${came} bytes, expected ${due}`)
    yield padding(due, ALIGNMENT)
  }
}

const bytesOf = (dtype: DType, shape: readonly number[]): number => rowBytes(dtype, elementCount(shape) ?? 0)

/** Zeros up to the next multiple of `alignment`. */
export const padding = (bytes: number, alignment: number): Uint8Array =>
  new Uint8Array((alignment - (bytes % alignment)) % alignment)

/** An entry in the list of tensors. */
export const tensorEntry = (
  name: string,
  shape: readonly number[],
  dtype: DType,
  offset: number,
): Uint8Array =>
  joinBytes([
    text(name),
    u32(shape.length),
    ...shape.toReversed().map(u64),
    u32(DTYPE_NUMBERS.get(dtype) as number),
    u64(offset),
  ])

type Scalar = string | number | boolean

function typed([type, value]: GgufValue): Uint8Array {
  const element = type.replace('[]', '')
  const number = u32(TYPES.get(element) as number)
  if (typeof value !== 'object') return joinBytes([number, scalar(element, value)])
  const items = (value as readonly Scalar[]).map((item) => scalar(element, item))
  return joinBytes([u32(ARRAY), number, u64(value.length), ...items])
}

function scalar(type: string, value: Scalar): Uint8Array {
  if (typeof value === 'string') return text(value)
  if (typeof value === 'boolean') return new Uint8Array([value ? 1 : 0])
  return type === 'f32' ? f32(value) : u32(value)
}

const encoder = new TextEncoder()

function text(value: string): Uint8Array {
  const encoded = encoder.encode(value)
  return joinBytes([u64(encoded.length), encoded])
}

function filled(bytes: number, fill: (view: DataView) => void): Uint8Array {
  const out = new Uint8Array(bytes)
  fill(new DataView(out.buffer))
  return out
}

/** Negative numbers as in `i32`. */
const u32 = (value: number): Uint8Array => filled(4, (view) => view.setUint32(0, value, true))
const f32 = (value: number): Uint8Array => filled(4, (view) => view.setFloat32(0, value, true))
const u64 = (value: number): Uint8Array => filled(8, (view) => view.setBigUint64(0, BigInt(value), true))
