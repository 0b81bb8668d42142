// Reads the header of a GGUF file: its metadata and the location of each tensor. The data stays in the file.
import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { BLOCKS, DTYPES, elementCount, rowBytes } from '../dtypes.ts'
import { malformed, shown } from '../malformed.ts'
import { SlabReader } from '../slab-reader.ts'
import { checkOverlap, type DType, type MetaValue, type TensorIndex, type TensorInfo } from '../tensors.ts'
import { readString, readValue } from './gguf-values.ts'
import { codingOf } from './group-readers.ts'

/**
 * ggml's type names in the order of their numbers, and the names that BitNet's fork gave to 36 and 37; a dash
 * marks a type that ggml removed.
 */
const NAMES = (
  'F32 F16 Q4_0 Q4_1 - - Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S ' +
  'IQ4_NL IQ3_S IQ2_S IQ4_XS I8 I16 I32 I64 F64 IQ1_M BF16 - - - TQ1_0 TQ2_0 I2_S I8_S - MXFP4 NVFP4 Q1_0 Q2_0'
).split(' ')

/** The supported types, by number. */
export const GGML_DTYPES: ReadonlyMap<number, DType> = new Map(
  DTYPES.map((dtype) => [NAMES.indexOf(dtype), dtype]),
)

/**
 * BitNet's fork writes the blocks of this type in one order on Arm and another on x64, and the file does not
 * say which.
 */
const I2_S = NAMES.indexOf('I2_S')

/** ggml's name of a type, supported or not. */
function ggmlTypeName(type: number): string {
  return NAMES[type]?.replace('-', '') || `ggml type ${type}`
}

export const GGUF_MAGIC = 0x46554747

/** One GGUF file, which may be one split of a model. */
export interface GgufFile {
  readonly source: ByteSource
  readonly metadata: ReadonlyMap<string, MetaValue>
  readonly tensors: TensorIndex
  readonly header: {
    /** Where the metadata ends and the list of tensors begins. */
    readonly end: number
    /** The position of the value of `general.file_type`, if present. */
    readonly fileTypeAt?: number | undefined
  }
}

const LEAST_ENTRY_BYTES = 13
const LEAST_TENSOR_BYTES = 32
const NAME_LIMIT_BYTES = 64 << 10
const MAX_DIMS = 4
/** GGUF's type number of an unsigned 32-bit value. */
const U32 = 4
const DEFAULT_ALIGNMENT = 32
const MAX_ALIGNMENT = 1 << 16

interface RawTensor {
  readonly name: string
  readonly type: number
  readonly shape: readonly number[]
  readonly offset: bigint
}

/**
 * Reads a header. Throws `format` if it is damaged, `unsupported` for an unsupported version or ggml type.
 */
export async function readGguf(source: ByteSource, signal?: AbortSignal): Promise<GgufFile> {
  const reader = new SlabReader(source, signal)
  await reader.fill(24)
  if (reader.u32() !== GGUF_MAGIC) throw malformed(source.name, 'it does not start with GGUF')
  checkVersion(source.name, reader.u32())
  const tensorCount = checkCount(reader, source.name, reader.u64(), LEAST_TENSOR_BYTES, 'tensors')
  const entryCount = checkCount(reader, source.name, reader.u64(), LEAST_ENTRY_BYTES, 'metadata entries')

  const metadata = new Map<string, MetaValue>()
  let fileTypeAt: number | undefined
  for (let index = 0; index < entryCount; index++) {
    const key = await readString(reader, source.name, `the key of metadata entry ${index}`, NAME_LIMIT_BYTES)
    if (metadata.has(key)) throw malformed(source.name, `the metadata key ${shown(key)} occurs twice`)
    if (reader.available < 4) await reader.fill(4)
    const type = reader.u32()
    if (key === 'general.file_type' && type === U32) fileTypeAt = reader.position
    metadata.set(key, await readValue(reader, source.name, key, type))
  }
  const header = { end: reader.position, fileTypeAt }

  const raw: RawTensor[] = []
  const names = new Set<string>()
  for (let index = 0; index < tensorCount; index++) {
    const tensor = await readTensor(reader, source.name, index)
    if (names.has(tensor.name)) throw malformed(source.name, `the tensor ${shown(tensor.name)} occurs twice`)
    names.add(tensor.name)
    raw.push(tensor)
  }
  checkTypes(source.name, raw)
  const alignment = readAlignment(source.name, metadata)
  const dataStart = Math.ceil(reader.position / alignment) * alignment
  const tensors = raw.map((tensor) => locate(source, tensor, dataStart, alignment))
  checkOverlap(source.name, tensors)
  return { source, metadata, header, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) }
}

function checkVersion(file: string, version: number): void {
  if (version === 2 || version === 3) return
  const bigEndian = version === 0x02000000 || version === 0x03000000
  throw new HalfbyteError(
    'unsupported',
    bigEndian
      ? `${file}: it is a big-endian GGUF but Halfbyte only reads little-endian files; convert the model on a little-endian machine`
      : `${file}: it is GGUF version ${version} but Halfbyte supports versions 2 and 3; convert it with a current llama.cpp`,
    { file, version },
  )
}

function checkCount(
  reader: SlabReader,
  file: string,
  count: bigint,
  leastBytes: number,
  what: string,
): number {
  if (count * BigInt(leastBytes) <= BigInt(reader.remaining)) return Number(count)
  throw malformed(
    file,
    `its header says ${count} ${what}, but only ${reader.remaining} bytes are left in the file`,
  )
}

async function readTensor(reader: SlabReader, file: string, index: number): Promise<RawTensor> {
  const name = await readString(reader, file, `the name of tensor ${index}`, NAME_LIMIT_BYTES)
  if (reader.available < 4) await reader.fill(4)
  const dims = reader.u32()
  if (dims < 1 || dims > MAX_DIMS) {
    throw malformed(file, `${shown(name)} has ${dims} dimensions, but 1 to ${MAX_DIMS} are allowed`)
  }
  if (reader.available < dims * 8 + 12) await reader.fill(dims * 8 + 12)
  const shape: number[] = []
  for (let dim = 0; dim < dims; dim++) {
    const size = reader.u64()
    if (size < 1n || size > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw malformed(
        file,
        `${shown(name)} has a dimension of ${size}, which is too large for the ${reader.remaining} bytes left in the file`,
      )
    }
    shape.unshift(Number(size))
  }
  return { name, shape, type: reader.u32(), offset: reader.u64() }
}

function checkTypes(file: string, tensors: readonly RawTensor[]): void {
  const first = tensors.find((tensor) => !GGML_DTYPES.has(tensor.type))
  if (first === undefined) return
  const others = tensors.filter((tensor) => !GGML_DTYPES.has(tensor.type))
  const types = [...new Set(others.map((tensor) => ggmlTypeName(tensor.type)))]
  throw new HalfbyteError(
    'unsupported',
    `${file}: ${others.length} of ${tensors.length} tensors are ${types.join(', ')} (${shown(first.name)} the first) ` +
      `and Halfbyte reads ${DTYPES.join(', ')}; take ${others.some(({ type }) => type === I2_S) ? "the model's packed safetensors, or convert them to TQ2_0" : "the model's Q8_0 or F16 file"}`,
    { file, types, supported: DTYPES, tensor: first.name },
  )
}

/** Tensors are padded to a multiple of this many bytes. Throws `format` if the alignment is invalid. */
export function readAlignment(file: string, metadata: ReadonlyMap<string, MetaValue>): number {
  const alignment = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT
  const isPower =
    typeof alignment === 'number' && Number.isInteger(alignment) && (alignment & (alignment - 1)) === 0
  if (isPower && alignment >= 1 && alignment <= MAX_ALIGNMENT) return alignment
  throw malformed(
    file,
    `general.alignment is ${shown(alignment)}, which must be a power of two up to ${MAX_ALIGNMENT}`,
  )
}

function locate(source: ByteSource, tensor: RawTensor, dataStart: number, alignment: number): TensorInfo {
  const dtype = GGML_DTYPES.get(tensor.type) as DType
  const { name, shape } = tensor
  const k = shape.at(-1) as number
  const elements = elementCount(shape)
  const byteLength = elements === undefined ? undefined : rowBytes(dtype, elements)
  if (byteLength === undefined || !(byteLength <= source.size)) {
    throw malformed(source.name, `${shown(name)} [${shape}] is larger than the file's ${source.size} bytes`)
  }
  if (k % BLOCKS[dtype].elements !== 0) {
    throw malformed(
      source.name,
      `${shown(name)} has rows of ${k}, but ${dtype} rows must be multiples of ${BLOCKS[dtype].elements}`,
    )
  }
  if (tensor.offset % BigInt(alignment) !== 0n) {
    throw malformed(
      source.name,
      `${shown(name)} begins at ${tensor.offset}, which is not a multiple of ${alignment}`,
    )
  }
  if (BigInt(dataStart) + tensor.offset + BigInt(byteLength) > BigInt(source.size)) {
    throw malformed(
      source.name,
      `${shown(name)} ends at byte ${BigInt(dataStart) + tensor.offset + BigInt(byteLength)} of a file of ${source.size}`,
      { tensor: name, size: source.size },
    )
  }
  const offset = dataStart + Number(tensor.offset)
  return { name, dtype, coding: codingOf(dtype), shape, source, offset, byteLength }
}
