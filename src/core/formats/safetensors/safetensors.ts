// Reads safetensors headers, of one file or of the shards of a model, and writes safetensors files.
import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { areCounts, isObject, type JsonObject } from '../../base/values.ts'
import { elementCount } from '../dtypes.ts'
import { parseObject } from '../json-files.ts'
import { malformed, shown } from '../malformed.ts'
import { baseName } from '../names/named-files.ts'
import type { DType, TensorInfo } from '../tensors.ts'

export interface NewTensor {
  readonly name: string
  readonly dtype: StoredDType
  readonly shape: readonly number[]
  readonly bytes: number
  /** Called once, when the tensor is reached; the chunks add up to `bytes`. */
  readonly data: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** Tensors follow one another in order, without gaps. The header is padded with spaces to 8 bytes. */
export async function* writeSafetensors(
  tensors: readonly NewTensor[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const entries: (readonly [string, object])[] = [['__metadata__', { format: 'pt' }]]
  let end = 0
  for (const { name, dtype, shape, bytes } of tensors) {
    entries.push([name, { dtype, shape, data_offsets: [end, end + bytes] }])
    end += bytes
  }
  const text = JSON.stringify(Object.fromEntries(entries))
  const bytes = new TextEncoder().encode(text)
  const length = Math.ceil(bytes.length / 8) * 8
  const head = new Uint8Array(8 + length).fill(0x20)
  new DataView(head.buffer).setBigUint64(0, BigInt(length), true)
  head.set(bytes, 8)
  yield head
  for (const { data } of tensors) {
    for await (const chunk of data()) {
      signal.throwIfAborted()
      yield chunk
    }
  }
}

/** Published headers stay below 2 MB; the format's own limit is 100 MB. */
const HEADER_LIMIT_BYTES = 32 << 20
const MAX_DIMS = 8

/** Bytes per element. Integer and FP8 tensors are read as parts of a quantised matrix. */
export const STORED_BYTES = { F32: 4, F16: 2, BF16: 2, I32: 4, I64: 8, I8: 1, U8: 1, F8_E4M3: 1, F8_E5M2: 1 }

export type StoredDType = keyof typeof STORED_BYTES

/** A tensor as its file stores it. */
export interface StoredTensor extends Omit<TensorInfo, 'dtype'> {
  readonly dtype: StoredDType
}

export type StoredIndex = ReadonlyMap<string, StoredTensor>

/** Reads a header. Throws `format` if it is damaged, `unsupported` for an unsupported dtype. */
export async function readSafetensors(source: ByteSource, signal?: AbortSignal): Promise<StoredIndex> {
  const { name: file, size } = source
  if (size < 10) throw malformed(file, `it has ${size} bytes, but a safetensors file has at least 10`)
  const prefix = await source.read(0, 8, signal)
  const length = new DataView(prefix.buffer, prefix.byteOffset, 8).getBigUint64(0, true)
  if (length > BigInt(Math.min(size - 8, HEADER_LIMIT_BYTES))) {
    throw malformed(file, `its header claims ${length} bytes in a file of ${size}`)
  }
  const dataStart = 8 + Number(length)
  const header = parseObject(file, new TextDecoder().decode(await source.read(8, Number(length), signal)))
  const tensors: StoredTensor[] = []
  for (const [name, entry] of Object.entries(header)) {
    if (name !== '__metadata__') tensors.push(locate(source, name, entry, dataStart))
  }
  checkCoverage(source, tensors, dataStart)
  return new Map(tensors.map((tensor) => [tensor.name, tensor]))
}

function locate(source: ByteSource, name: string, entry: unknown, dataStart: number): StoredTensor {
  const { dtype, shape, data_offsets: offsets }: JsonObject = isObject(entry) ? entry : {}
  if (typeof dtype !== 'string' || !areCounts(shape) || shape.length > MAX_DIMS || !areCounts(offsets)) {
    throw malformed(source.name, `the entry of ${shown(name)} has no dtype, shape and data_offsets`)
  }
  const [begin, end] = offsets
  if (
    begin === undefined ||
    end === undefined ||
    offsets.length !== 2 ||
    end < begin ||
    dataStart + end > source.size
  ) {
    throw malformed(
      source.name,
      `${shown(name)} is at bytes [${offsets}], but the data has ${source.size - dataStart}`,
    )
  }
  const elements = elementCount(shape)
  const stored = { name, dtype: dtype as StoredDType, shape, source, offset: dataStart + begin }
  if (!Object.hasOwn(STORED_BYTES, dtype)) throw unreadDType(stored)
  if (elements === undefined || elements * STORED_BYTES[stored.dtype] !== end - begin) {
    throw malformed(
      source.name,
      `${shown(name)} has ${end - begin} bytes, which does not match ${dtype} [${shape}]`,
    )
  }
  return { ...stored, byteLength: end - begin }
}

const FLOATS = ['F32', 'F16', 'BF16'] as const satisfies (DType & StoredDType)[]

/** The tensor as a float tensor. Throws `unsupported` for dtypes that can only be read with other tensors. */
export function floatTensor(tensor: StoredTensor): TensorInfo {
  const dtype = FLOATS.find((float) => float === tensor.dtype)
  if (dtype === undefined) throw unreadDType(tensor)
  return { ...tensor, dtype }
}

function unreadDType({
  name,
  dtype,
  source,
}: Pick<StoredTensor, 'name' | 'dtype' | 'source'>): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${source.name}: ${shown(name)} is ${shown(dtype)} but Halfbyte reads ${FLOATS.join(', ')} from safetensors, and others ` +
      'only in a quantised model; use the unquantised model, or a GGUF of it',
    { file: source.name, tensor: name, dtype, supported: FLOATS },
  )
}

/** The format allows no gaps, overlaps or trailing data, so lost or repeated bytes are detected here. */
function checkCoverage(source: ByteSource, tensors: readonly StoredTensor[], dataStart: number): void {
  let end = dataStart
  for (const tensor of [...tensors].sort((a, b) => a.offset - b.offset || a.byteLength - b.byteLength)) {
    if (tensor.offset !== end) {
      throw malformed(source.name, `${shown(tensor.name)} begins at byte ${tensor.offset} instead of ${end}`)
    }
    end += tensor.byteLength
  }
  if (end !== source.size) throw malformed(source.name, `its tensors end at byte ${end} of ${source.size}`)
}

/**
 * Mistral's repositories contain the weights twice, the second time under the names of Mistral's own library.
 */
function withoutConsolidated(files: readonly ByteSource[]): readonly ByteSource[] {
  const kept = files.filter(({ name }) => !/^consolidated(?:[.-].*)?\.safetensors$/.test(baseName(name)))
  return kept.length > 0 ? kept : files
}

/**
 * Reads all shards of a model. `index` is its parsed `model.safetensors.index.json`; without one, names like
 * `-00001-of-00003` give the number of shards. Throws `format`, naming missing shards.
 */
export async function readShards(
  given: readonly ByteSource[],
  index: JsonObject | undefined,
  signal?: AbortSignal,
): Promise<StoredIndex> {
  const sources = withoutConsolidated(given)
  checkComplete(sources, index)
  const tensors = new Map<string, StoredTensor>()
  for (const source of sources) {
    for (const tensor of (await readSafetensors(source, signal)).values()) {
      const before = tensors.get(tensor.name)
      if (before !== undefined) {
        throw malformed(source.name, `the tensor ${shown(tensor.name)} is also in ${before.source.name}`)
      }
      tensors.set(tensor.name, tensor)
    }
  }
  for (const [name, file] of Object.entries(weightMap(index))) {
    const held = tensors.get(name)
    if (held === undefined || baseName(held.source.name) !== file) {
      throw malformed(shown(file), `it should have ${shown(name)} according to the index, but does not`)
    }
  }
  return tensors
}

function checkComplete(sources: readonly ByteSource[], index: JsonObject | undefined): void {
  const given = sources.map((source) => baseName(source.name))
  const twin = given.find((name, at) => given.indexOf(name) !== at)
  if (twin !== undefined) throw new HalfbyteError('format', `${twin} was given twice; give each shard once`)
  const wanted = new Set(Object.values(weightMap(index)).map(nameOf))
  const shard = /-\d{5}-of-(\d{5})(?=\.safetensors$)/
  const [first = ''] = given
  const count = Number(shard.exec(first)?.[1] ?? 1)
  if (wanted.size === 0 && count !== given.length && count === 1) {
    throw new HalfbyteError(
      'format',
      `${given.length} safetensors files were given without an index; add model.safetensors.index.json or give one`,
      { files: given },
    )
  }
  for (let number = 1; wanted.size < count && number <= count; number++) {
    wanted.add(first.replace(/\d{5}(?=-of-\d{5}\.safetensors$)/, String(number).padStart(5, '0')))
  }
  const missing = [...wanted].filter((name) =>
    count > 1 || index !== undefined ? !given.includes(name) : false,
  )
  if (missing.length === 0) return
  throw new HalfbyteError(
    'format',
    `the model is split into ${wanted.size} files but ${given.length} were given; add ${missing.slice(0, 8).join(', ')}`,
    { count: wanted.size, given: given.length, missing: missing.slice(0, 64) },
  )
}

const nameOf = (file: unknown): string => (typeof file === 'string' ? file : shown(file))

function weightMap(index: JsonObject | undefined): JsonObject {
  const map = index?.['weight_map']
  return isObject(map) ? map : {}
}
