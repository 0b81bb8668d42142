// Reads .hbm packs: models whose tensors are in kernel layout. Every byte is checked by hash.
//
//   0   'HBM1'            8   u32 bytes of the header as stored       16  u64 bytes of the whole file
//   4   u32 version       12  u32 bytes of the header's JSON          24  u64 zero
//   32  SHA-256 of bytes 0..31 and of the stored header
//   64  header: JSON (PackHeader), gzip
//       data: begins at the next multiple of 64; each tensor at a multiple of 64 from there
//
// The data needed to check a chunk comes before it, so a pack can be used while it downloads. A file whose
// size differs from its prefix is rejected before anything else is read.

import type { PackedEncoding } from '../../abi/encodings.ts'
import { type ByteSource, filledSource, readInto } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { hex, sha256 } from '../../base/sha256.ts'
import { areCounts, isObject, type JsonObject } from '../../base/values.ts'
import type { TokenizerSpec } from '../../text/spec.ts'
import { checkedSpec } from '../../text/tokenize/read/check-steps.ts'
import { elementCount } from '../dtypes.ts'
import { gunzip } from '../gzip.ts'
import { type MetaObject, parseObject, withoutNulls } from '../json-files.ts'
import { malformed, shown } from '../malformed.ts'
import { checkOverlap, type DType, type TensorIndex, type TensorInfo } from '../tensors.ts'

/** Memory that the sources of one file share, so that they buffer one chunk in total instead of one each. */
interface SharedChunk {
  /** Slabs rarely end where a chunk ends. Keeping the last chunk avoids reading and hashing it twice. */
  last?: { readonly at: number; readonly bytes: Uint8Array }
  /** The buffer in which a chunk is hashed before it is copied to shared memory. */
  passing?: Uint8Array
}

/**
 * How often wrong bytes are fetched again before giving up. The first retry may hit another transfer error.
 */
const RENEWALS = 2

/**
 * Returns the bytes [start, end) from `read` once they match. Fetches corrupt bytes again if they came from a
 * network. Throws `integrity` if they stay corrupt, and any fetch error.
 */
async function readMatching(
  source: ByteSource,
  [start, end, what]: readonly [number, number, string],
  read: () => Promise<Uint8Array>,
  isRight: (bytes: Uint8Array) => Promise<boolean>,
): Promise<Uint8Array> {
  for (let renewals = 0; ; renewals++) {
    const bytes = await read()
    if (await isRight(bytes)) return bytes
    if (renewals === RENEWALS) {
      throw new HalfbyteError(
        'integrity',
        `${source.name}: bytes ${start} to ${end} (${what}) do not match their hash; download it again`,
        { file: source.name, start, end },
      )
    }
    await source.renew?.(start, end)
  }
}

/**
 * The tensor's bytes, starting at 0. Reads throw `integrity` if a chunk still differs from its hash after a
 * second fetch.
 */
function verifiedSource(
  tensor: TensorInfo,
  hashes: readonly string[],
  chunkBytes: number,
  shared: SharedChunk = {},
): ByteSource {
  const { source, offset: start, byteLength: size } = tensor
  const lengthOf = (index: number): number => Math.min(chunkBytes, size - index * chunkBytes)

  const matching = (index: number, read: () => Promise<Uint8Array>): Promise<Uint8Array> => {
    const from = start + index * chunkBytes
    const isRight = async (bytes: Uint8Array) => (await sha256(bytes)) === hashes[index]
    return readMatching(source, [from, from + lengthOf(index), shown(tensor.name)], read, isRight)
  }

  const chunk = async (index: number, signal?: AbortSignal): Promise<Uint8Array> => {
    const at = start + index * chunkBytes
    if (shared.last?.at === at) return shared.last.bytes
    const bytes = await matching(index, () => source.read(at, lengthOf(index), signal))
    shared.last = { at, bytes }
    return bytes
  }

  /** Reads a whole chunk into `target`. Hashing needs memory that no other thread can write. */
  const chunkInto = async (target: Uint8Array, index: number, signal?: AbortSignal): Promise<void> => {
    const isShared = !(target.buffer instanceof ArrayBuffer)
    if (isShared) shared.passing ??= new Uint8Array(chunkBytes)
    const bytes = isShared ? (shared.passing as Uint8Array).subarray(0, target.byteLength) : target
    await matching(index, async () => {
      await readInto(source, bytes, start + index * chunkBytes, signal)
      return bytes
    })
    if (isShared) target.set(bytes)
  }

  return filledSource(source.name, size, async (target, offset, signal) => {
    const end = offset + target.byteLength
    for (let index = Math.floor(offset / chunkBytes); index * chunkBytes < end; index++) {
      const at = index * chunkBytes
      const from = Math.max(offset, at)
      const to = Math.min(end, at + lengthOf(index))
      const part = target.subarray(from - offset, to - offset)
      if (part.byteLength === lengthOf(index)) await chunkInto(part, index, signal)
      else part.set((await chunk(index, signal)).subarray(from - at, to - at))
    }
  })
}

/** Version 2 sorts the inputs of `sv32` by the outputs that they keep. Everything else is as in version 1. */
export const PACK_VERSION = 2
export const PREFIX_BYTES = 64
const PACK_ALIGNMENT = 64
/** Bytes of a tensor that one hash covers. */
export const CHUNK_BYTES = 4 << 20

/** The JSON of a pack's header. */
export interface PackHeader {
  readonly name: string
  /** A ModelConfig. */
  readonly config: MetaObject
  readonly tokenizer?: TokenizerSpec | undefined
  /** Sampling defaults, by their names in generation_config.json. */
  readonly generation?: MetaObject | undefined
  /** Licence, source, attribution. Shown, never interpreted. */
  readonly about?: MetaObject | undefined
  readonly tensors: readonly PackEntry[]
}

export interface PackEntry {
  /** Canonical name. */
  readonly name: string
  readonly encoding: PackedEncoding
  /** [n, k] in panels, or [n] as f32 padded to a multiple of 32. */
  readonly shape: readonly number[]
  /** In bytes from the start of the data. */
  readonly offset: number
  readonly bytes: number
  /** One hash per CHUNK_BYTES, in hex. */
  readonly sha256: readonly string[]
}

export interface Pack {
  readonly header: PackHeader
  readonly tensors: TensorIndex
}

const MAGIC = 0x48424d31
/** The JSON of a tokenizer with 300,000 tokens takes 20 MB. */
const HEADER_LIMIT_BYTES = 128 << 20
/** The dtype of other formats that corresponds to each encoding. */
export const DTYPE_OF: Readonly<Record<PackedEncoding, DType>> = {
  f32: 'F32',
  f16: 'F16',
  bf16: 'BF16',
  w8_g32: 'Q8_0',
  w4_g32: 'Q4_0',
  w4m_g32: 'Q4_1',
  w4_g32_sb84: 'Q4_0',
  w8_g32_sb84: 'Q8_0',
  w4_g32_sv32: 'Q4_0',
  w8_g32_sv32: 'Q8_0',
  w8_g32_sp24: 'Q8_0',
  w4_channel: 'Q4_0',
  w2_g256: 'TQ2_0',
}

/**
 * Throws `format` for a damaged or truncated pack, `unsupported` for one of a different version or encoding,
 * `integrity` if the header still differs from its hash after a second fetch.
 */
export async function readPack(source: ByteSource, signal?: AbortSignal): Promise<Pack> {
  const { name: file, size } = source
  if (size < PREFIX_BYTES)
    throw malformed(file, `it has ${size} bytes, but a pack has at least ${PREFIX_BYTES}`)
  const prefix = await source.read(0, PREFIX_BYTES, signal)
  const view = new DataView(prefix.buffer, prefix.byteOffset, PREFIX_BYTES)
  if (view.getUint32(0) !== MAGIC) throw malformed(file, 'it does not start with HBM1')
  const version = view.getUint32(4, true)
  if (version < 1 || version > PACK_VERSION) throw otherVersion(file, version, PACK_VERSION)
  const storedBytes = view.getUint32(8, true)
  const jsonBytes = view.getUint32(12, true)
  const fileBytes = packBytes(prefix)
  if (fileBytes !== size) throw malformed(file, `it has ${size} bytes but its prefix says ${fileBytes}`)
  if (storedBytes > size - PREFIX_BYTES || jsonBytes > HEADER_LIMIT_BYTES) {
    throw malformed(
      file,
      `its header claims ${storedBytes} bytes, ${jsonBytes} unpacked, in a file of ${size}`,
    )
  }
  const headBytes = PREFIX_BYTES + storedBytes
  const head = await readMatching(
    source,
    [0, headBytes, 'its header'],
    () => source.read(0, headBytes, signal),
    async (bytes) => (await headerHash(bytes)) === hex(bytes.subarray(32, PREFIX_BYTES)),
  )
  const json = await gunzip(file, head.subarray(PREFIX_BYTES), jsonBytes)
  const header = parseHeader(file, parseObject(file, new TextDecoder().decode(json)))
  const least = packVersion(header.tensors)
  if (version < least) throw otherVersion(file, version, least)
  const dataStart = alignUp(headBytes)
  const located = header.tensors.map((entry) => locate(source, entry, dataStart))
  checkOverlap(file, located)
  const tensors = new Map<string, TensorInfo>()
  const shared: SharedChunk = {}
  header.tensors.forEach((entry, index) => {
    if (tensors.has(entry.name)) throw malformed(file, `the tensor ${shown(entry.name)} occurs twice`)
    const tensor = located[index] as TensorInfo
    // Bytes that were checked after they were stored are not hashed again on every load.
    tensors.set(
      entry.name,
      source.isChecked === true
        ? tensor
        : { ...tensor, source: verifiedSource(tensor, entry.sha256, CHUNK_BYTES, shared), offset: 0 },
    )
  })
  return { header, tensors }
}

/**
 * The oldest version that has the layouts of `tensors`, so that older releases can read packs without newer
 * layouts.
 */
export function packVersion(tensors: readonly Pick<PackEntry, 'encoding'>[]): number {
  return tensors.some(({ encoding }) => encoding.endsWith('sv32')) ? PACK_VERSION : 1
}

function otherVersion(file: string, version: number, read: number): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: it is a version ${version} pack, but only version ${read} is supported; ${version > read ? 'update Halfbyte' : 'convert the model again'}`,
    { file, version },
  )
}

/** Bytes of the whole pack, according to its prefix. */
export function packBytes({ buffer, byteOffset }: Uint8Array): number {
  return Number(new DataView(buffer, byteOffset).getBigUint64(16, true))
}

export function alignUp(bytes: number): number {
  return Math.ceil(bytes / PACK_ALIGNMENT) * PACK_ALIGNMENT
}

/** The hash in bytes 32..63. It covers everything else up to the end of the header. */
export function headerHash(head: Uint8Array): Promise<string> {
  const hashed = new Uint8Array(head.length - 32)
  hashed.set(head.subarray(0, 32))
  hashed.set(head.subarray(PREFIX_BYTES), 32)
  return sha256(hashed)
}

function parseHeader(file: string, json: JsonObject): PackHeader {
  const { name, config, tokenizer, generation, about, tensors } = json
  if (typeof name !== 'string' || !isObject(config) || !Array.isArray(tensors)) {
    throw malformed(file, 'its header is missing name, config or tensors')
  }
  return {
    name,
    config: withoutNulls(config),
    tokenizer: tokenizer === undefined ? undefined : checkedSpec(tokenizer),
    generation: isObject(generation) ? withoutNulls(generation) : undefined,
    about: isObject(about) ? withoutNulls(about) : undefined,
    tensors: tensors.map((entry) => parseEntry(file, entry)),
  }
}

function parseEntry(file: string, value: unknown): PackEntry {
  const { name, encoding, shape, offset, bytes, sha256 }: JsonObject = isObject(value) ? value : {}
  const isEntry =
    typeof name === 'string' &&
    typeof encoding === 'string' &&
    areCounts(shape) &&
    areCounts([offset, bytes]) &&
    Array.isArray(sha256) &&
    sha256.every((hash) => typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash))
  if (!isEntry) throw malformed(file, `the entry of the tensor ${shown(name)} is incomplete`)
  if (!Object.hasOwn(DTYPE_OF, encoding)) {
    throw new HalfbyteError(
      'unsupported',
      `${file}: the tensor ${shown(name)} is stored as ${shown(encoding)}, which this version does not support; convert the model again`,
      { tensor: name, encoding },
    )
  }
  return {
    name,
    encoding: encoding as PackedEncoding,
    shape,
    offset: offset as number,
    bytes: bytes as number,
    sha256,
  }
}

function locate(source: ByteSource, entry: PackEntry, dataStart: number): TensorInfo {
  const { name, shape, bytes } = entry
  const offset = dataStart + entry.offset
  if (entry.offset % PACK_ALIGNMENT !== 0 || offset + bytes > source.size) {
    throw malformed(
      source.name,
      `${shown(name)} lies at bytes ${offset} to ${offset + bytes} of ${source.size}`,
    )
  }
  const elements = elementCount(shape)
  const [n = 0] = shape
  const isVector = shape.length === 1 && entry.encoding === 'f32' && bytes === Math.ceil(n / 32) * 128
  const isMatrix = shape.length === 2 && elements !== undefined
  if (!elements || (!isVector && !isMatrix)) {
    throw malformed(
      source.name,
      `${shown(name)} has ${bytes} bytes, which does not match ${entry.encoding} [${shape}]`,
    )
  }
  if (entry.sha256.length !== Math.ceil(bytes / CHUNK_BYTES)) {
    throw malformed(source.name, `${shown(name)} has ${entry.sha256.length} hashes for ${bytes} bytes`)
  }
  const { encoding: packed } = entry
  return { name, dtype: DTYPE_OF[packed], shape, source, offset, byteLength: bytes, packed }
}
