// Writes a sequence's state as a file that can be streamed and checked, and reads it back.
//
//   magic, u32 version, u32 0 | blocks of each group in order, then slabs | index as JSON |
//   its SHA-256 in hex, u32 bytes, magic
//
// The index has a checksum for every block, so no byte is used unchecked. Numbers are little-endian.

import { ABI } from '../abi/constants.ts'
import { quickTurn } from '../base/budget.ts'
import type { ByteSource } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { parseJson } from '../base/json.ts'
import { checksum, sha256 } from '../base/sha256.ts'
import { areCounts, isCount, isObject } from '../base/values.ts'
import { MAX_PARTS, type Part } from '../runtime/part-check.ts'
import { SequenceState } from './sequence-state.ts'
import type { StateCache } from './state-cache.ts'

const MAGIC = 'HBSTATE1'
const VERSION = 2
const PREFACE = `${MAGIC}${String.fromCharCode(VERSION)}${'\0'.repeat(7)}`
const PREFACE_BYTES = 16
const TRAILER_BYTES = 64 + 4 + 8
/**
 * More than the index of any context needs. A number from a file must not decide how much memory is
 * allocated.
 */
const MAX_INDEX_BYTES = 256 * 1024 * 1024
/** What a snapshot contains besides its state, as plain JSON. */
const MAX_LEVELS = 512

/** The contents of a snapshot besides its state, as plain JSON. */
interface SnapshotHead {
  /**
   * Identifies the model, its plan and the storage of its state. State with a different fingerprint is
   * rejected.
   */
  readonly fingerprint: string
  readonly tokens: readonly number[]
  /** The caller's own data, returned when the file is read. */
  readonly extra: unknown
}

interface Index extends SnapshotHead {
  readonly length: number
  /** Bytes per pool. */
  readonly blockBytes: readonly number[]
  /** Per group of keys and values, the first held position. */
  readonly from: readonly number[]
  readonly sums: readonly string[]
}

interface StatePart extends Part {
  readonly group: number
}

/** Approximate number of bytes read at once. Reads that copy into the heap should be small. */
const READ_BYTES = 16 * 1024 * 1024
/** Approximate bytes written between two turns of the event loop. */
const WRITE_BYTES = 1024 * 1024

const text = new TextEncoder()

/** Bytes of the state in such a file. The index takes slightly more. */
export const snapshotBytes = (cache: StateCache, state: SequenceState): number =>
  [...parts(cache, state)].reduce((sum, { bytes }) => sum + bytes, 0)

/**
 * Yields the file in chunks, one block at a time. `state` must not change meanwhile, so pass a fork. Throws
 * the signal's reason between two chunks.
 */
export async function* writeSnapshot(
  cache: StateCache,
  state: SequenceState,
  head: SnapshotHead,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield text.encode(PREFACE)
  const sums: string[] = []
  let unturned = 0
  for (const each of parts(cache, state)) {
    const part = await partOf(cache, each)
    sums.push(checksum(part))
    yield part
    unturned += part.length
    if (unturned < WRITE_BYTES) continue
    unturned = 0
    await quickTurn()
    signal?.throwIfAborted()
  }
  const index: Index = {
    ...head,
    length: state.length,
    blockBytes: cache.savedBytes,
    from: state.tables.map(({ validFrom }) => validFrom),
    sums,
  }
  const json = text.encode(JSON.stringify(index))
  yield json
  const trailer = new Uint8Array(TRAILER_BYTES)
  trailer.set(text.encode(await sha256(json)))
  new DataView(trailer.buffer).setUint32(64, json.byteLength, true)
  trailer.set(text.encode(MAGIC), 68)
  // Without the trailer, the file is invalid, so an abort up to this point still takes effect.
  await quickTurn()
  signal?.throwIfAborted()
  yield trailer
}

/**
 * Reads the state from a file, for a sequence that shares nothing. Checksums show that no byte changed. They
 * do not show that the state belongs to `tokens`: anyone who can write a file can write its checksums. Throws
 * `format` for a file that is not a snapshot or has a different version, `unsupported` for another model,
 * `integrity` for a wrong byte, `context-overflow`, `out-of-memory`, or the signal's reason. After an error,
 * nothing stays allocated.
 */
export async function readSnapshot(
  cache: StateCache,
  source: ByteSource,
  fingerprint: string,
  signal?: AbortSignal,
): Promise<{ readonly state: SequenceState; readonly tokens: number[]; readonly extra: unknown }> {
  const { index, start } = await readIndex(source)
  if (index.fingerprint !== fingerprint || !isSame(index.blockBytes, cache)) {
    throw new HalfbyteError(
      'unsupported',
      `${source.name} was saved with a different model or different state settings; load that model, or start a new session`,
    )
  }
  const tokens = [...index.tokens]
  const state = new SequenceState(cache)
  try {
    state.claim(index.length, index.from)
    const wanted = [...parts(cache, state, index.length)]
    const size = wanted.reduce((sum, { bytes }) => sum + bytes, PREFACE_BYTES)
    if (wanted.length !== index.sums.length || size !== start) throw damaged(source)
    await readParts(cache, source, wanted, index.sums, signal)
    state.advance(index.length)
    state.checkpoint()
    return { state, tokens, extra: index.extra }
  } catch (error) {
    state.release()
    throw error
  }
}

/**
 * Reads several parts concurrently. If one fails, waits for the others, so that nobody writes to freed
 * blocks.
 */
async function readParts(
  { arena, mirror, check }: StateCache,
  source: ByteSource,
  wanted: readonly StatePart[],
  sums: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  let offset = PREFACE_BYTES
  const read = async ({ group, address, bytes }: StatePart): Promise<string | undefined> => {
    const start = offset
    offset += bytes
    // Memory may grow during an await, which invalidates old views.
    const view = () => arena.u8.subarray(address, address + bytes)
    if (mirror === undefined && source.readInto !== undefined) await source.readInto(view(), start, signal)
    else {
      const part = await source.read(start, bytes, signal)
      if (mirror === undefined) view().set(part)
      else {
        await mirror.scatter(group, address, part)
        return checksum(part)
      }
    }
    return check === undefined ? checksum(view()) : undefined
  }
  for (let first = 0, end = 0; first < wanted.length; first = end) {
    for (let bytes = 0; end < wanted.length && end < first + MAX_PARTS && bytes < READ_BYTES; end++)
      bytes += wanted[end]!.bytes
    const some = wanted.slice(first, end)
    check?.touch(some)
    const parts = some.map(read)
    await Promise.allSettled(parts)
    const own = await Promise.all(parts)
    const found = check?.sums(some) ?? own
    if (found.some((sum, index) => sum !== sums[first + index])) throw damaged(source)
  }
}

async function readIndex(source: ByteSource): Promise<{ index: Index; start: number }> {
  const least = PREFACE_BYTES + TRAILER_BYTES
  if (source.size < least) throw notSnapshot(source)
  const preface = await source.read(0, PREFACE_BYTES)
  const trailer = await source.read(source.size - TRAILER_BYTES, TRAILER_BYTES)
  const decode = (bytes: Uint8Array): string => new TextDecoder('latin1').decode(bytes)
  if (decode(preface) !== PREFACE) throw notSnapshot(source)
  const bytes = new DataView(trailer.buffer, trailer.byteOffset).getUint32(64, true)
  const start = source.size - TRAILER_BYTES - bytes
  if (decode(trailer.subarray(68)) !== MAGIC || start < PREFACE_BYTES || bytes > MAX_INDEX_BYTES) {
    throw damaged(source)
  }
  const json = await source.read(start, bytes)
  if ((await sha256(json)) !== decode(trailer.subarray(0, 64))) throw damaged(source)
  const index = parsed(json)
  if (!isIndex(index)) throw notSnapshot(source)
  return { index, start }
}

async function partOf(
  { arena, mirror }: StateCache,
  { group, address, bytes }: StatePart,
): Promise<Uint8Array<ArrayBuffer>> {
  if (mirror !== undefined) return mirror.gather(group, address)
  const part = new Uint8Array(bytes)
  part.set(arena.u8.subarray(address, address + bytes))
  return part
}

/** Blocks of the first `length` positions, in file order, then slabs. */
function* parts(cache: StateCache, state: SequenceState, length = state.length): Generator<StatePart> {
  const end = Math.ceil(length / ABI.BLOCK_POSITIONS)
  for (const [group, bytes] of cache.savedBytes.entries()) {
    const table = state.tables[group]
    if (table === undefined) {
      if (length > 0) yield { group, address: state.table(group), bytes }
      continue
    }
    for (let index = table.first; index < end; index++) yield { group, address: table.at(index)!, bytes }
  }
}

/** Undefined for text that is not JSON. */
function parsed(json: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder().decode(json), MAX_LEVELS)
  } catch {
    return undefined
  }
}

/** The hash shows that the index is unchanged, not that this engine wrote it. */
function isIndex(value: unknown): value is Index {
  if (!isObject(value)) return false
  const { fingerprint, tokens, length, blockBytes, from, sums } = value as Partial<Index>
  return (
    typeof fingerprint === 'string' &&
    isCount(length) &&
    areCounts(tokens) &&
    tokens.length >= length &&
    areCounts(blockBytes) &&
    areCounts(from) &&
    from.every((position) => position <= length) &&
    Array.isArray(sums)
  )
}

const isSame = (blockBytes: readonly number[], { savedBytes }: StateCache): boolean =>
  blockBytes.length === savedBytes.length && savedBytes.every((bytes, group) => bytes === blockBytes[group])

export const notSnapshot = ({ name }: Pick<ByteSource, 'name'>): HalfbyteError =>
  new HalfbyteError(
    'format',
    `${name} is not a saved session of version ${VERSION}; save it again with this release`,
  )

const damaged = ({ name }: ByteSource): HalfbyteError =>
  new HalfbyteError('integrity', `${name} is truncated or modified; start a new session`)
