// Reads a stored file directly into the target memory. Each chunk is compared with its sum before any of its
// bytes are used.
import { type ByteSource, blobSource, filledSource, readInto } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Manifest } from './manifest.ts'
import { addSum, CHUNK_BYTES, chunkBytes, PIECE_BYTES, type Sums, summerOf } from './sums.ts'
import { type FolderEntry, openSyncReader, type SyncReader } from './sync-file.ts'

/** Reads throw `integrity`, with the byte range, for a chunk that does not match its sum. */
export async function storedSource(
  name: string,
  handle: FolderEntry,
  { sums, isChecked }: Pick<Manifest, 'sums' | 'isChecked'>,
): Promise<ByteSource> {
  const isRight = sums.map((sum) => sum === null)
  const reader = await openSyncReader(handle)
  if (reader === undefined) {
    const blob = blobSource(name, await handle.getFile())
    const read = (target: Uint8Array, offset: number) => readInto(blob, target, offset)
    // Each read of a Blob is slow, even of a few bytes.
    const source = summedSource({ name, size: blob.size, sums, isRight, read, pieceBytes: CHUNK_BYTES })
    return { ...source, isChecked }
  }
  const passage = new Uint8Array(PIECE_BYTES)
  const read = (target: Uint8Array, offset: number) => fill(reader, name, passage, target, offset)
  return {
    ...summedSource({ name, size: reader.getSize(), sums, isRight, read, pieceBytes: PIECE_BYTES }),
    shared: { entry: handle.path ?? handle, sums, isRight: (chunk) => isRight[chunk] ?? true, read },
    isChecked,
    close: () => reader.close(),
  }
}

interface Summed {
  readonly name: string
  readonly size: number
  /** Empty if an earlier release stored the file. */
  readonly sums: Sums
  /** Whether each chunk has been compared, or cannot be. Reads update it. */
  readonly isRight: boolean[]
  /** Fills `target` with the bytes at `offset`. */
  readonly read: (target: Uint8Array, offset: number) => void | Promise<void>
  /** Number of bytes to read at a time. */
  readonly pieceBytes: number
}

function summedSource({
  name,
  size,
  sums,
  isRight,
  read,
  pieceBytes,
}: Summed): ReturnType<typeof filledSource> {
  /**
   * A buffer for chunks of which a read needs only a part, unless the target's memory has one. A read claims
   * it, because others run in parallel.
   */
  const own: { spare: Uint8Array | undefined } = { spare: undefined }
  /**
   * Reads a whole chunk, and copies the bytes that overlap `target`, which starts at `offset` in the file.
   */
  const readChunk = async (index: number, target: Uint8Array, offset: number): Promise<void> => {
    const start = index * CHUNK_BYTES
    const end = start + chunkBytes(index, size)
    let sum = 0
    let passing: Uint8Array | undefined
    const lent = summerOf(target)
    const owner = lent !== undefined && pieceBytes === PIECE_BYTES ? lent : own
    for (let at = start; at < end; ) {
      const next = Math.min(at + pieceBytes, end)
      const from = Math.max(at, offset)
      const to = Math.min(next, offset + target.byteLength)
      const isWhole = from === at && to === next
      if (!isWhole) {
        passing ??= owner.spare ?? new Uint8Array(Math.min(pieceBytes, size))
        owner.spare = undefined
      }
      const piece = isWhole ? target.subarray(at - offset, next - offset) : passing!.subarray(0, next - at)
      await read(piece, at)
      sum = addSum(sum, piece)
      if (!isWhole && from < to) target.set(piece.subarray(from - at, to - at), from - offset)
      at = next
    }
    owner.spare = passing ?? owner.spare
    if (sum !== sums[index]) throw damaged(name, start, end)
    isRight[index] = true
  }
  return filledSource(name, size, async (target, offset) => {
    const end = offset + target.byteLength
    for (let at = offset; at < end; ) {
      const index = Math.floor(at / CHUNK_BYTES)
      const next = Math.min(end, (index + 1) * CHUNK_BYTES)
      const part = target.subarray(at - offset, next - offset)
      if (isRight[index] ?? true) await read(part, at)
      else await readChunk(index, part, at)
      at = next
    }
  })
}

const damaged = (name: string, start: number, end: number): HalfbyteError =>
  new HalfbyteError(
    'integrity',
    `${name}: bytes ${start} to ${end} on this device have changed since they were stored; load it again to fetch them`,
    { file: name, start, end },
  )

/**
 * Chromium keeps the memory of every array that it reads into until its own collector runs, even after that
 * memory was released. So the bytes for a possibly short-lived array go through `passage`. Shared memory
 * belongs to the engine and lasts.
 */
function fill(
  reader: SyncReader,
  name: string,
  passage: Uint8Array,
  target: Uint8Array,
  offset: number,
): void {
  const isLasting = !(target.buffer instanceof ArrayBuffer)
  let done = 0
  while (done < target.byteLength) {
    const rest = target.subarray(done)
    const piece = isLasting ? rest : passage.subarray(0, rest.byteLength)
    const count = reader.read(piece, { at: offset + done })
    if (count === 0) {
      throw new HalfbyteError(
        'integrity',
        `${name}: only ${done} of ${target.byteLength} bytes could be read at ${offset}; the file was changed, so load it again`,
        { file: name },
      )
    }
    if (!isLasting) rest.set(piece.subarray(0, count))
    done += count
  }
}
