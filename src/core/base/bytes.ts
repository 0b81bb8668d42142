// ByteSource: a Blob, file or buffer that is read by range. Also splits text that arrives in chunks into
// lines.
import { HalfbyteError } from './errors.ts'
import { isCount } from './values.ts'

/** A text, or its chunks in order. */
export type TextPieces = string | Iterable<string> | AsyncIterable<string>

/** UTF-16 units. A whole line must fit in memory. */
const LONGEST_LINE = 1 << 26

/** Iterating over a plain string would yield characters. */
export const piecesOf = (text: TextPieces): Iterable<string> | AsyncIterable<string> =>
  typeof text === 'string' ? [text] : text

/**
 * The lines without their line breaks (LF). Text after the last line break is a line unless it is empty.
 * Throws `format` for a line with more than `longest` characters. `name`: the text's name in the error.
 */
export async function* linesOf(
  pieces: TextPieces,
  longest = LONGEST_LINE,
  name = 'the text',
): AsyncGenerator<string> {
  let begun: string[] = []
  let length = 0
  let number = 1
  const checkLength = () => {
    if (length <= longest) return
    throw new HalfbyteError(
      'format',
      `line ${number} of ${name} has more than ${longest} characters; break it into shorter lines`,
      { line: number, longest },
    )
  }
  for await (const piece of piecesOf(pieces)) {
    const [first = '', ...others] = piece.split('\n')
    begun.push(first)
    length += first.length
    checkLength()
    for (const line of others) {
      yield begun.join('')
      number++
      begun = [line]
      length = line.length
      checkLength()
    }
  }
  if (length > 0) yield begun.join('')
}

/** A file on this device that other threads can open themselves. */
export interface SharedFile {
  /**
   * What a compute worker opens, as a message can carry it: a path, or a handle of the private file system.
   */
  readonly entry: unknown
  /** The checksum of each chunk; null for an unknown one. Empty if there are none. */
  readonly sums: readonly (number | null)[]
  /** Whether a chunk has been compared with its sum. */
  isRight(chunk: number): boolean
  /** Fills `target` with bytes that are not compared. Throws if the file ends before, or cannot be read. */
  read(target: Uint8Array, offset: number): void
}

/**
 * A file, a download or a buffer that is read by byte range. Reads never return fewer bytes than requested.
 */
export interface ByteSource {
  /** File name or URL, for messages and for recognising the format by the extension. */
  readonly name: string
  /** Size in bytes. */
  readonly size: number
  /**
   * Reads `length` bytes at `offset`. The caller may keep the result but must not write to it, because it may
   * be a view. Throws `format` if the range is outside the source, and the signal's reason if aborted.
   */
  read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>
  /**
   * Like `read`, for random access: the next read won't be of neighbouring bytes. Absent if this makes no
   * difference.
   */
  readAlone?(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>
  /** Like `read`, but fills `target`, which may be shared memory, and allocates no array. */
  readInto?(target: Uint8Array, offset: number, signal?: AbortSignal): Promise<void>
  /** The address that the file was fetched from. Absent if it was not fetched. */
  address?: string
  /** Absent if only this thread can read the bytes. Invalid after `renew`. */
  readonly shared?: SharedFile | undefined
  /** True if the bytes were checked against the file's own hashes after they were stored. */
  readonly isChecked?: boolean
  /**
   * Fetches bytes [start, end) again. Absent if the source was not fetched. Rejects with the errors of a
   * fetch.
   */
  renew?(start: number, end: number): Promise<void>
  /** True after `renew`, which may have replaced more bytes than the given range. */
  isRenewed?: boolean
  /** Closes the file; nothing can be read afterwards. */
  close?(): void
}

/** Fills `target` with the bytes of `source` at `offset`. */
export async function readInto(
  source: ByteSource,
  target: Uint8Array,
  offset: number,
  signal?: AbortSignal,
): Promise<void> {
  if (source.readInto !== undefined) return source.readInto(target, offset, signal)
  target.set(await source.read(offset, target.byteLength, signal))
}

/**
 * Frees the memory of an array, leaving it empty, because the collector frees large arrays late. Call it only
 * for an array that nothing else references and no pending read fills. Does nothing in older browsers.
 */
export function release({ buffer }: ArrayBufferView): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer?.(0)
}

/** Throws `format` unless [offset, offset + length) lies inside `source`. */
export function checkRange(source: { name: string; size: number }, offset: number, length: number): void {
  if (isCount(offset) && isCount(length) && offset + length <= source.size) return
  throw new HalfbyteError(
    'format',
    `${source.name}: bytes ${offset} to ${offset + length} were requested but the file has ${source.size}; ` +
      'it is truncated or its header is wrong, so download it again',
    { offset, length, size: source.size },
  )
}

/** A source of `size` bytes whose reads call `fill`, after the range has been checked. */
export function filledSource(
  name: string,
  size: number,
  fill: (target: Uint8Array, offset: number, signal?: AbortSignal) => void | Promise<void>,
): Required<Pick<ByteSource, 'name' | 'size' | 'read' | 'readInto'>> {
  const check = (offset: number, length: number, signal?: AbortSignal) => {
    signal?.throwIfAborted()
    checkRange({ name, size }, offset, length)
  }
  return {
    name,
    size,
    async read(offset, length, signal) {
      check(offset, length, signal)
      const bytes = new Uint8Array(length)
      await fill(bytes, offset, signal)
      return bytes
    },
    async readInto(target, offset, signal) {
      check(offset, target.byteLength, signal)
      await fill(target, offset, signal)
    },
  }
}

/** A byte range of a source. */
interface SourceRange {
  readonly source: ByteSource
  readonly offset: number
  readonly bytes: number
}

/**
 * Maps [offset, end) of the joined ranges to the sources: bytes [from, to) of each source that overlaps it,
 * and `at`, their position counted from `offset`.
 */
export function heldIn(ranges: readonly SourceRange[], offset: number, end: number) {
  let next = 0
  return ranges.flatMap(({ source, offset: first, bytes }) => {
    const start = next
    next += bytes
    const low = Math.max(offset, start)
    const high = Math.min(end, next)
    return low < high
      ? [{ source, from: first + low - start, to: first + high - start, at: low - offset }]
      : []
  })
}

/** One source that joins several ranges end to end. */
export function joinedSource(name: string, ranges: readonly SourceRange[]): ReturnType<typeof filledSource> {
  const size = ranges.reduce((sum, { bytes }) => sum + bytes, 0)
  return filledSource(name, size, async (target, offset, signal) => {
    for (const { source, from, to, at } of heldIn(ranges, offset, offset + target.byteLength)) {
      await readInto(source, target.subarray(at, at + to - from), from, signal)
    }
  })
}

/** Copies the parts into one array, in order. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.byteLength
  }
  return bytes
}

/** A source for bytes that are already in memory. */
export function bufferSource(name: string, bytes: Uint8Array): ByteSource {
  return {
    name,
    size: bytes.byteLength,
    async read(offset, length, signal) {
      signal?.throwIfAborted()
      checkRange({ name, size: bytes.byteLength }, offset, length)
      return bytes.subarray(offset, offset + length)
    },
  }
}

/** Bytes read from a Blob at a time. */
const PASSAGE_BYTES = 1 << 20

/** Node's streams of Blobs take twice as long as its arrays, which its collector frees in time. */
const ARE_STREAMS_SLOW =
  (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined

/**
 * A source for a Blob or File. Only the requested ranges are read into memory. `failure` creates the error of
 * a failed read. Default: `integrity`, because browsers refuse to read a File that was changed or removed
 * after it was opened. `usesStreams`: by default, not in Node.
 */
export function blobSource(
  name: string,
  blob: Pick<Blob, 'size' | 'slice'>,
  failure = changed,
  usesStreams = !ARE_STREAMS_SLOW,
): ByteSource {
  /** Arrays that no read is using. */
  const spare: ArrayBuffer[] = []
  return filledSource(name, blob.size, async (target, offset, signal) => {
    const part = blob.slice(offset, offset + target.byteLength)
    const reader = usesStreams ? byteReader(part) : undefined
    try {
      if (reader === undefined) await readPieces(part, target, signal)
      else {
        reading.add(reader)
        const passage = spare.pop() ?? new ArrayBuffer(Math.min(PASSAGE_BYTES, blob.size))
        spare.push(await readThrough(passage, reader, target, signal))
      }
    } catch (cause) {
      signal?.throwIfAborted()
      throw failure(name, cause)
    } finally {
      if (reader !== undefined) {
        reading.delete(reader)
        reader.cancel().catch(() => undefined)
      }
    }
    signal?.throwIfAborted()
  })
}

/**
 * Readers in use. Chromium frees the stream of a Blob that only its own pending read refers to, and the read
 * then never ends.
 */
const reading = new Set<ReadableStreamBYOBReader>()

/** Undefined in browsers that give each piece of a Blob its own array. */
function byteReader(blob: Blob): ReadableStreamBYOBReader | undefined {
  try {
    return blob.stream().getReader({ mode: 'byob' })
  } catch {
    return undefined
  }
}

/** Fills `target` from arrays of at most `PASSAGE_BYTES`. */
async function readPieces(blob: Blob, target: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
  for (let at = 0; at < target.byteLength; at += PASSAGE_BYTES) {
    const end = Math.min(at + PASSAGE_BYTES, target.byteLength)
    const bytes = new Uint8Array(await blob.slice(at, end).arrayBuffer())
    signal?.throwIfAborted()
    if (bytes.byteLength < end - at) throw new Error(`only ${at + bytes.byteLength} bytes arrived`)
    target.set(bytes, at)
  }
}

/**
 * Fills `target` through the intermediate buffer `passage`, and returns that buffer for the next read. The
 * browser reads only into this buffer, which is reused because browsers free arrays late. Chromium does so
 * even for arrays that were released explicitly.
 */
async function readThrough(
  passage: ArrayBuffer,
  reader: ReadableStreamBYOBReader,
  target: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<ArrayBuffer> {
  let free = passage
  for (let done = 0; done < target.byteLength; ) {
    const min = Math.min(free.byteLength, target.byteLength - done)
    const { value } = await reader.read(new Uint8Array(free, 0, min), { min })
    signal?.throwIfAborted()
    if (value === undefined || value.byteLength === 0) throw new Error(`only ${done} bytes arrived`)
    target.set(value, done)
    done += value.byteLength
    free = value.buffer
  }
  return free
}

const changed = (name: string, cause: unknown): HalfbyteError =>
  new HalfbyteError(
    'integrity',
    `${name} changed or was removed during reading (${cause instanceof Error ? cause.name : cause}); open it again`,
    {},
    { cause },
  )
