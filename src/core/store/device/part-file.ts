// A file of a store that is written in place and can be resumed.
//
//   <name>.bin    the bytes; only those of finished chunks are valid
//   <name>.part   the journal: the file's version and the sums of finished chunks, written after their bytes
import { isCount } from '../../base/values.ts'
import { fileKey, readFields } from './notes.ts'
import { addSum, CHUNK_BYTES, chunkBytes, damagedChunks, isSums, type Sums } from './sums.ts'
import {
  checkRoom,
  type Folder,
  full,
  openSyncFile,
  type Room,
  type SyncFile,
  writeAll,
  writeError,
  writeJson,
} from './sync-file.ts'

/** The version of a file on a server. Parts of two versions are never combined. */
export interface Version {
  /** Bytes. */
  readonly size: number
  /** The ETag; without one, the time of the last change; otherwise ''. */
  readonly etag: string
}

/** A file that is being written. Calls of one transfer never overlap. */
export interface PartialFile {
  /** The version of the stored chunks; undefined if nothing is known yet. */
  readonly version: Version | undefined
  /** Whether chunk `index` is complete. */
  has(index: number): boolean
  /** Discards all bytes; later bytes belong to `version`. Size 0 means unknown. Throws `storage-full`. */
  begin(version: Version): Promise<void>
  /** Throws `storage-full`. */
  write(offset: number, bytes: Uint8Array): void
  /** Marks chunk `index` as complete. Returns false if it was already stored with different bytes. */
  finish(index: number): boolean
}

/** The journal as JSON. */
interface Journal extends Version {
  readonly url: string
  /** By chunk; null for a missing one. */
  readonly sums: Sums
  /** True if the header was invalid and fetched again, and no read has succeeded since then. */
  readonly isDoubted?: boolean | undefined
}

/** Wrong bytes [start, end) of a file. */
export interface LostBytes {
  readonly start: number
  readonly end: number
}

/** A file for one transfer. */
export interface StoredPart extends PartialFile {
  /** See `isDoubted` of the journal. */
  readonly isDoubted?: boolean | undefined
  /** Call after a successful transfer. Makes the file `size` bytes long, closes it and returns its sums. */
  complete(size: number): Sums
  /** Closes the file in its current state. May be called twice. */
  close(): void
}

export class PartFile implements StoredPart {
  readonly #url: string
  readonly #bytes: SyncFile
  readonly #journal: SyncFile
  readonly #room: Room
  #version: Version | undefined
  /** Sums of the finished chunks. */
  #sums: (number | null)[] = []
  /** Sum of the bytes written so far, for each chunk. */
  readonly #running: number[] = []
  /** Free bytes that the room reported, for files of unknown size. */
  #free = Number.POSITIVE_INFINITY
  isDoubted: boolean | undefined

  private constructor(url: string, bytes: SyncFile, journal: SyncFile, room: Room) {
    this.#url = url
    this.#room = room
    this.#bytes = bytes
    this.#journal = journal
  }

  /** Resumes the file of an earlier visit. Returns undefined if the browser cannot write in place. */
  static async open(folder: Folder, name: string, url: string, room: Room): Promise<StoredPart | undefined> {
    const left = await readJournal(folder, name)
    let bytes: SyncFile | undefined
    let journal: SyncFile | undefined
    try {
      bytes = await openSyncFile(folder, `${name}.bin`)
      journal = bytes && (await openSyncFile(folder, `${name}.part`))
    } catch (cause) {
      bytes?.close()
      return new FullDisk(cause, room)
    }
    if (bytes === undefined || journal === undefined) {
      bytes?.close()
      return undefined
    }
    const file = new PartFile(url, bytes, journal, room)
    if (left !== undefined && bytes.getSize() === left.size) {
      file.#version = { size: left.size, etag: left.etag }
      file.#sums = [...left.sums]
      file.isDoubted = left.isDoubted
      // After a power failure, chunks in the journal may be missing.
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
    const free = await checkRoom(version.size, this.#room)
    this.#free = version.size > 0 ? Number.POSITIVE_INFINITY : free
    this.#attempt(() => this.#bytes.truncate(version.size))
    this.#note()
  }

  write(offset: number, bytes: Uint8Array): void {
    const end = offset + bytes.byteLength
    if (end > this.#free) throw full(end, this.#free, this.#room)
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
    // A file that arrived in one response does not have finished chunks.
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
      throw writeError(this.#version?.size ?? 0, cause, this.#room)
    }
  }
}

/** Bytes that are fetched again if a header is invalid. A transfer always requests at least one chunk. */
const HEADER_BYTES = 4 * CHUNK_BYTES

/**
 * Writes a journal for a stored file, without the chunks that overlap `lost`. The next transfer then checks
 * that the file on the server is unchanged, and fetches those chunks. `lost` defaults to the header, or to
 * the whole file if fetching the header again did not help.
 */
export async function reopen(
  folder: Folder,
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

/** Used if the disk cannot hold even an empty file. Throws once the size of the file is known. */
class FullDisk implements StoredPart {
  readonly version = undefined
  readonly #cause: unknown
  readonly #room: Room

  constructor(cause: unknown, room: Room) {
    this.#cause = cause
    this.#room = room
  }

  has(): boolean {
    return false
  }

  async begin({ size }: Version): Promise<void> {
    throw writeError(size, this.#cause, this.#room)
  }

  write(): void {
    throw writeError(0, this.#cause, this.#room)
  }

  finish(): boolean {
    return true
  }

  complete(): Sums {
    throw writeError(0, this.#cause, this.#room)
  }

  close(): void {}
}

/** The bytes that an unfinished download has stored, and its total; undefined if there is none. */
export async function partialProgress(
  folder: Folder,
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

async function readJournal(folder: Folder, name: string): Promise<Journal | undefined> {
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
