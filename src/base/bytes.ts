// ByteSource. In: a Blob or bytes. Out: something with a size that a byte range can be read from.
import { HalfbyteError } from './errors.ts'
import { isCount } from './values.ts'

/** A file, a download or a buffer, seen as a size and ranges. Reads never return fewer bytes than asked. */
export interface ByteSource {
  /** File name or address, for messages and for telling formats apart by their ending. */
  readonly name: string
  /** Size in bytes. */
  readonly size: number
  /**
   * Reads `length` bytes at `offset`. The result is the caller's to keep but may be a view: do not write to it.
   * Throws `format` when the range is outside the source, the signal's reason when aborted.
   */
  read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>
  /** Fills `target`, which may be shared memory, with the bytes at `offset`: as `read`, without an array for each call. */
  readInto?(target: Uint8Array, offset: number, signal?: AbortSignal): Promise<void>
  /** True when the bytes have been compared with the hashes in them since they were stored. */
  readonly isChecked?: boolean
  /** Brings bytes [start, end) again from where they were fetched; absent where they were not. Rejects as fetching does. */
  renew?(start: number, end: number): Promise<void>
  /** True after `renew`: more than that may be new. */
  isRenewed?: boolean
  /** Lets go of the file; nothing can be read afterwards. */
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

/** Throws `format` unless [offset, offset + length) lies inside `source`. */
export function checkRange(source: { name: string; size: number }, offset: number, length: number): void {
  if (isCount(offset) && isCount(length) && offset + length <= source.size) return
  throw new HalfbyteError(
    'format',
    `${source.name}: bytes ${offset} to ${offset + length} were asked for but the file has ${source.size}; ` +
      'it is truncated or its header is wrong, so fetch it again',
    { offset, length, size: source.size },
  )
}

/** A source of `size` bytes that `fill` puts where they are wanted; it is only asked for ranges inside. */
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

/** Bytes of a source. */
export interface SourceRange {
  readonly source: ByteSource
  readonly offset: number
  readonly bytes: number
}

/** Bytes [from, to) of each source whose range holds some of [offset, end) of all, one after the other, and where there. */
export function heldIn(ranges: readonly SourceRange[], offset: number, end: number) {
  let next = 0
  return ranges.flatMap(({ source, offset: first, bytes }) => {
    const start = next
    next += bytes
    const [low, high] = [Math.max(offset, start), Math.min(end, next)]
    return low < high
      ? [{ source, from: first + low - start, to: first + high - start, at: low - offset }]
      : []
  })
}

/** Ranges of sources, one after the other. */
export function joinedSource(name: string, ranges: readonly SourceRange[]): ReturnType<typeof filledSource> {
  const size = ranges.reduce((sum, { bytes }) => sum + bytes, 0)
  return filledSource(name, size, async (target, offset, signal) => {
    for (const { source, from, to, at } of heldIn(ranges, offset, offset + target.byteLength)) {
      await readInto(source, target.subarray(at, at + to - from), from, signal)
    }
  })
}

/** Bytes already in memory. */
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

/** A Blob or File; only the ranges asked for are read into memory. Reading throws `integrity` when the file is another by now. */
export function blobSource(name: string, blob: Blob): ByteSource {
  return {
    name,
    size: blob.size,
    async read(offset, length, signal) {
      signal?.throwIfAborted()
      checkRange({ name, size: blob.size }, offset, length)
      const part = await blob
        .slice(offset, offset + length)
        .arrayBuffer()
        .catch((cause) => {
          throw unreadable(name, cause)
        })
      signal?.throwIfAborted()
      return new Uint8Array(part)
    },
  }
}

/** A File is a promise of what lay on the disk when it was opened; browsers refuse to read what lies there since. */
const unreadable = (name: string, cause: unknown): HalfbyteError =>
  new HalfbyteError(
    'integrity',
    `${name} was changed or removed while it was read (${cause instanceof Error ? cause.name : cause}); open it again`,
    {},
    { cause },
  )
