// GGUF writer. In: metadata, tensors and sources of their bytes. Out: the file as chunks, so that it can have
// any size.
import { BLOCKS, elementCount, rowBytes } from '../../../../src/core/formats/dtypes.ts'
import { GGML_DTYPES } from '../../../../src/core/formats/gguf/gguf.ts'
import type { DType } from '../../../../src/core/formats/tensors.ts'

const SCALAR_TYPES = {
  u8: 0,
  i8: 1,
  u16: 2,
  i16: 3,
  u32: 4,
  i32: 5,
  f32: 6,
  bool: 7,
  string: 8,
  u64: 10,
  i64: 11,
  f64: 12,
}
type Scalar = keyof typeof SCALAR_TYPES
const DTYPE_NUMBERS = new Map([...GGML_DTYPES].map(([number, dtype]) => [dtype, number]))

/** A metadata value with GGUF's type: `['u32', 5]`, `['string[]', ['a', 'b']]`. */
export type GgufValue =
  | readonly ['string', string]
  | readonly ['bool', boolean]
  | readonly ['u64' | 'i64', bigint | number]
  | readonly [Exclude<Scalar, 'string' | 'bool' | 'u64' | 'i64'>, number]
  | readonly ['string[]', readonly string[]]
  | readonly ['f32[]' | 'i32[]' | 'u32[]', readonly number[]]

export interface GgufTensor {
  readonly name: string
  readonly dtype: DType
  /** Sizes of the axes, outermost first, as in TensorInfo. */
  readonly shape: readonly number[]
  /** Called once, when the tensor is written. The chunks make up the tensor's bytes. */
  readonly data: () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>
}

export interface GgufContents {
  readonly metadata: Readonly<Record<string, GgufValue>>
  readonly tensors: readonly GgufTensor[]
  /** Default 3. */
  readonly version?: 2 | 3
  /** Default 32; any other value is also written as `general.alignment`. */
  readonly alignment?: number
}

/** A name in which each pair's first part is replaced by its second. */
export const renamed = (
  name: string,
  pairs: readonly (readonly [from: string | RegExp, to: string])[],
): string => pairs.reduce((text, [from, to]) => text.replace(from, to), name)

/** Weights as tensors in F32. */
export const f32Tensors = (
  weights: Iterable<readonly [string, { readonly shape: readonly number[]; readonly values: Float32Array }]>,
  nameOf: (name: string) => string,
): GgufTensor[] =>
  Array.from(weights, ([name, { shape, values }]) => ({
    name: nameOf(name),
    dtype: 'F32',
    shape,
    data: () => [new Uint8Array(values.buffer)],
  }))

/**
 * Yields the header, then each tensor's chunks and padding. Throws RangeError when data has the wrong length.
 */
export async function* writeGguf(contents: GgufContents): AsyncGenerator<Uint8Array> {
  const alignment = contents.alignment ?? 32
  yield ggufHeader(contents)
  for (const tensor of contents.tensors) {
    let written = 0
    for await (const chunk of tensor.data()) {
      written += chunk.byteLength
      yield chunk
    }
    const expected = tensorBytes(tensor)
    if (written !== expected)
      throw new RangeError(`${tensor.name}: ${written} bytes were written instead of ${expected}`)
    const padding = paddingAfter(written, alignment)
    if (padding > 0) yield new Uint8Array(padding)
  }
}

/** The whole file, for small files. */
export async function ggufBytes(contents: GgufContents): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of writeGguf(contents)) chunks.push(chunk)
  return concat(chunks)
}

/** The bytes before the first tensor, including padding. */
export function ggufHeader(contents: GgufContents): Uint8Array {
  const alignment = contents.alignment ?? 32
  const out = new ByteWriter()
  const metadata: Record<string, GgufValue> = { ...contents.metadata }
  if (alignment !== 32) metadata['general.alignment'] = ['u32', alignment]
  out.u32(0x46554747)
  out.u32(contents.version ?? 3)
  out.u64(contents.tensors.length)
  out.u64(Object.keys(metadata).length)
  for (const [key, [type, value]] of Object.entries(metadata)) {
    out.text(key)
    if (Array.isArray(value)) {
      const element = type.slice(0, -2) as Scalar
      out.u32(9)
      out.u32(SCALAR_TYPES[element])
      out.u64(value.length)
      for (const item of value) out.scalar(element, item)
    } else {
      out.u32(SCALAR_TYPES[type as Scalar])
      out.scalar(type as Scalar, value as string | number | bigint | boolean)
    }
  }
  let offset = 0
  for (const tensor of contents.tensors) {
    out.text(tensor.name)
    out.u32(tensor.shape.length)
    for (const size of [...tensor.shape].reverse()) out.u64(size)
    out.u32(DTYPE_NUMBERS.get(tensor.dtype) ?? 0)
    out.u64(offset)
    const bytes = tensorBytes(tensor)
    offset += bytes + paddingAfter(bytes, alignment)
  }
  out.pad(alignment)
  return out.bytes()
}

/** Bytes of a tensor in the file, without padding. Throws RangeError if rows are not whole blocks. */
export function tensorBytes(tensor: { name: string; dtype: DType; shape: readonly number[] }): number {
  const elements = elementCount(tensor.shape)
  const k = tensor.shape.at(-1)
  if (elements === undefined || k === undefined || k % BLOCKS[tensor.dtype].elements !== 0) {
    throw new RangeError(`${tensor.name}: ${tensor.dtype} cannot store [${tensor.shape}]`)
  }
  return rowBytes(tensor.dtype, elements)
}

export function concat(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0))
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

function paddingAfter(bytes: number, alignment: number): number {
  return (alignment - (bytes % alignment)) % alignment
}

/** Little-endian bytes in a buffer that doubles when full. */
class ByteWriter {
  readonly #encoder = new TextEncoder()
  #bytes = new Uint8Array(1 << 16)
  #view = new DataView(this.#bytes.buffer)
  #length = 0

  #grow(count: number): number {
    const at = this.#length
    this.#length += count
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2))
      larger.set(this.#bytes)
      this.#bytes = larger
      this.#view = new DataView(larger.buffer)
    }
    return at
  }

  u32(value: number): void {
    const at = this.#grow(4)
    this.#view.setUint32(at, value, true)
  }
  u64(value: number | bigint): void {
    const at = this.#grow(8)
    this.#view.setBigUint64(at, BigInt(value), true)
  }
  text(value: string): void {
    const encoded = this.#encoder.encode(value)
    this.u64(encoded.length)
    const at = this.#grow(encoded.length)
    this.#bytes.set(encoded, at)
  }
  pad(alignment: number): void {
    this.#grow(paddingAfter(this.#length, alignment))
  }
  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }
  scalar(type: Scalar, value: string | number | bigint | boolean): void {
    if (type === 'string') this.text(String(value))
    else if (type === 'u64') this.u64(BigInt(value))
    else if (type === 'i64') this.u64(BigInt.asUintN(64, BigInt(value)))
    else this.#number(type, Number(value))
  }
  #number(type: Exclude<Scalar, 'string' | 'u64' | 'i64'>, value: number): void {
    const at = this.#grow({ u8: 1, i8: 1, bool: 1, u16: 2, i16: 2, u32: 4, i32: 4, f32: 4, f64: 8 }[type])
    const view = this.#view
    if (type === 'u8' || type === 'bool') view.setUint8(at, value)
    else if (type === 'i8') view.setInt8(at, value)
    else if (type === 'u16') view.setUint16(at, value, true)
    else if (type === 'i16') view.setInt16(at, value, true)
    else if (type === 'u32') view.setUint32(at, value, true)
    else if (type === 'i32') view.setInt32(at, value, true)
    else if (type === 'f32') view.setFloat32(at, value, true)
    else view.setFloat64(at, value, true)
  }
}
