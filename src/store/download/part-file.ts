// Part files. In: a folder of the origin's private file system. Out: a file that is written in place and goes on where it stopped.
//
//   <name>.bin    the bytes; where no chunk has been finished they mean nothing
//   <name>.part   the journal: what the file will be, and the sums of the chunks that are there. It is written after its bytes
import { isCount } from '../../base/values.ts'
import { checkQuota, full, writeError } from '../device/quota.ts'
import { addSum, chunkBytes, damagedChunks, isSums, type Sums } from '../device/sums.ts'
import { openSyncFile, type SyncFile, writeAll, writeJson } from '../device/sync-file.ts'
import { fileKey, readFields } from '../folder.ts'
import { CHUNK_BYTES } from './chunk.ts'
import type { Version } from './partial.ts'
import type { PartialFile } from './transfer.ts'

/** The journal as JSON. */
export interface Journal extends Version {
  readonly url: string
  /** Null where a chunk is not there. */
  readonly sums: Sums
  /** Its header came again, since it made no sense, and it has not been read well since. */
  readonly isDoubted?: boolean | undefined
}

/** Bytes [start, end) of a file that are not what they should be. */
export interface LostBytes {
  readonly start: number
  readonly end: number
}

/** A file for one transfer. */
export interface StoredPart extends PartialFile {
  /** As in the journal. */
  readonly isDoubted?: boolean | undefined
  /** Makes the file `size` bytes long and lets go of it, for a transfer that has ended well. The result are its sums. */
  complete(size: number): Sums
  /** Lets go of the file as it is. Doing it twice is harmless. */
  close(): void
}

export class PartFile implements StoredPart {
  readonly #url: string
  readonly #bytes: SyncFile
  readonly #journal: SyncFile
  #version: Version | undefined
  /** Of the chunks that are there. */
  #sums: (number | null)[] = []
  /** Of what was written of each chunk, from its beginning on. */
  readonly #running: number[] = []
  /** Bytes that the browser said were free, for a file whose size nobody knows. */
  #room = Number.POSITIVE_INFINITY
  isDoubted: boolean | undefined

  private constructor(url: string, bytes: SyncFile, journal: SyncFile) {
    this.#url = url
    this.#bytes = bytes
    this.#journal = journal
  }

  /** Goes on with what an earlier visit left. Undefined where the browser cannot write in place. */
  static async open(
    folder: FileSystemDirectoryHandle,
    name: string,
    url: string,
  ): Promise<StoredPart | undefined> {
    const left = await readJournal(folder, name)
    let bytes: SyncFile | undefined
    let journal: SyncFile | undefined
    try {
      bytes = await openSyncFile(folder, `${name}.bin`)
      journal = bytes && (await openSyncFile(folder, `${name}.part`))
    } catch (cause) {
      bytes?.close()
      return new FullDisk(cause)
    }
    if (bytes === undefined || journal === undefined) {
      bytes?.close()
      return undefined
    }
    const file = new PartFile(url, bytes, journal)
    if (left !== undefined && bytes.getSize() === left.size) {
      file.#version = { size: left.size, etag: left.etag }
      file.#sums = [...left.sums]
      file.isDoubted = left.isDoubted
      // Not all that a journal claims need be there: a machine may have lost its power.
      const damaged = await damagedChunks(left.sums, left.size, (target, at) => bytes.read(target, { at }))
      for (const index of damaged) file.#sums[index] = null
    }
    return file
  }

  get version(): Version | undefined {
    return this.#version
  }

  has(index: number): boolean {
    return (this.#sums[index] ?? null) !== null
  }

  async begin(version: Version): Promise<void> {
    this.#version = version
    this.isDoubted = undefined
    this.#sums = Array(chunksOf(version)).fill(null)
    this.#note()
    this.#attempt(() => this.#bytes.truncate(0))
    const free = await checkQuota(version.size)
    this.#room = version.size > 0 ? Number.POSITIVE_INFINITY : free
    this.#attempt(() => this.#bytes.truncate(version.size))
    this.#note()
  }

  write(offset: number, bytes: Uint8Array): void {
    if (offset + bytes.byteLength > this.#room) throw full(offset + bytes.byteLength, this.#room)
    this.#attempt(() => writeAll(this.#bytes, bytes, offset))
    for (let at = 0; at < bytes.byteLength; ) {
      const index = Math.floor((offset + at) / CHUNK_BYTES)
      const from = (offset + at) % CHUNK_BYTES
      const piece = bytes.subarray(at, at + CHUNK_BYTES - from)
      this.#running[index] = addSum(from === 0 ? 0 : (this.#running[index] ?? 0), piece)
      at += piece.byteLength
    }
  }

  finish(index: number): boolean {
    const sum = this.#running[index] ?? 0
    const isSame = !this.has(index) || this.#sums[index] === sum
    this.#sums[index] = sum
    if (isSame) this.#note()
    return isSame
  }

  complete(size: number): Sums {
    this.#attempt(() => {
      this.#bytes.truncate(size)
      this.#bytes.flush()
    })
    this.close()
    // A file that came as a whole has no chunks that were finished.
    return Array.from(
      { length: chunksOf({ size }) },
      (_, index) => this.#sums[index] ?? this.#running[index] ?? 0,
    )
  }

  close(): void {
    this.#bytes.close()
    this.#journal.close()
  }

  #note(): void {
    const { size, etag } = this.#version ?? { size: 0, etag: '' }
    const journal: Journal = { url: this.#url, size, etag, sums: this.#sums, isDoubted: this.isDoubted }
    this.#attempt(() => {
      this.#bytes.flush()
      writeJson(this.#journal, journal)
    })
  }

  #attempt(work: () => void): void {
    try {
      work()
    } catch (cause) {
      throw writeError(this.#version?.size ?? 0, cause)
    }
  }
}

/** Where what makes no sense is looked for: one chunk of it a transfer asks for anyway. */
const HEADER_BYTES = 4 * CHUNK_BYTES

/**
 * Writes the journal of a file that is there but for what overlaps its lost bytes, so that the next transfer asks whether it is still the same and brings the
 * rest. Default: its header, and all of it when that has not helped.
 */
export async function reopen(
  folder: FileSystemDirectoryHandle,
  name: string,
  { url, size, etag, sums, isDoubted }: Journal,
  lost?: LostBytes,
): Promise<void> {
  const { start, end } = lost ?? { start: 0, end: isDoubted ? size : HEADER_BYTES }
  const isThere = (index: number) => (index + 1) * CHUNK_BYTES <= start || index * CHUNK_BYTES >= end
  const left = Array.from({ length: chunksOf({ size }) }, (_, index) =>
    isThere(index) ? (sums[index] ?? null) : null,
  )
  const file = await openSyncFile(folder, `${name}.part`)
  if (file === undefined) return
  try {
    const journal: Journal = { url, size, etag, sums: left, isDoubted: lost ? isDoubted : !isDoubted }
    writeJson(file, journal)
  } finally {
    file.close()
  }
}

/** Where not even an empty file finds room: says so once it is known how much was to come. */
class FullDisk implements StoredPart {
  readonly version = undefined
  readonly #cause: unknown

  constructor(cause: unknown) {
    this.#cause = cause
  }

  has(): boolean {
    return false
  }

  async begin({ size }: Version): Promise<void> {
    throw writeError(size, this.#cause)
  }

  write(): void {
    throw writeError(0, this.#cause)
  }

  finish(): boolean {
    return true
  }

  complete(): Sums {
    throw writeError(0, this.#cause)
  }

  close(): void {}
}

/** Bytes that a download which has not ended has brought, and will; undefined when there is none. */
export async function partialProgress(
  folder: FileSystemDirectoryHandle,
  name: string,
): Promise<{ readonly url: string; readonly loaded: number; readonly total: number } | undefined> {
  const journal = await readJournal(folder, name)
  if (journal === undefined) return undefined
  const { url, size: total, sums } = journal
  const loaded = sums.reduce<number>(
    (all, sum, index) => all + (sum === null ? 0 : chunkBytes(index, total)),
    0,
  )
  return { url, loaded, total }
}

async function readJournal(folder: FileSystemDirectoryHandle, name: string): Promise<Journal | undefined> {
  const { url, size, etag, sums, isDoubted } = await readFields(folder, `${name}.part`)
  const isWhole =
    typeof url === 'string' &&
    typeof etag === 'string' &&
    isCount(size) &&
    isSums(sums) &&
    sums.length === chunksOf({ size }) &&
    (await fileKey(url)) === name
  return isWhole ? { url, size, etag, sums, isDoubted: isDoubted === true } : undefined
}

const chunksOf = ({ size }: { readonly size: number }): number => Math.ceil(size / CHUNK_BYTES)
