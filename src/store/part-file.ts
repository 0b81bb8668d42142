// Part files. In: a folder of the origin's private file system. Out: a file that is written in place and goes on where it stopped.
//
//   <name>.bin    the bytes; where no chunk has been finished they mean nothing
//   <name>.part   the journal: what the file will be, and the chunks that are there. It is written after its bytes
import { areCounts, isCount } from '../base/counts.ts'
import { CHUNK_BYTES } from './chunk.ts'
import { fileKey, readFields } from './folder.ts'
import type { Version } from './partial.ts'
import { checkQuota, writeError } from './quota.ts'
import { openSyncFile, type SyncFile, writeAll, writeJson } from './sync-file.ts'
import type { PartialFile } from './transfer.ts'

/** The journal as JSON. */
interface Journal extends Version {
  readonly url: string
  readonly chunks: readonly number[]
}

/** Bytes [start, end) of a file that are not what they should be. */
export interface LostBytes {
  readonly start: number
  readonly end: number
}

/** A file for one transfer. */
export interface StoredPart extends PartialFile {
  /** Makes the file `size` bytes long and lets go of it, for a transfer that has ended well. */
  complete(size: number): void
  /** Lets go of the file as it is. Doing it twice is harmless. */
  close(): void
}

export class PartFile implements StoredPart {
  readonly #url: string
  readonly #bytes: SyncFile
  readonly #journal: SyncFile
  #version: Version | undefined
  #chunks = new Set<number>()

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
      file.#chunks = new Set(left.chunks)
    }
    return file
  }

  get version(): Version | undefined {
    return this.#version
  }

  has(index: number): boolean {
    return this.#chunks.has(index)
  }

  async begin(version: Version): Promise<void> {
    this.#version = version
    this.#chunks.clear()
    this.#note()
    this.#attempt(() => this.#bytes.truncate(0))
    await checkQuota(version.size)
    this.#attempt(() => this.#bytes.truncate(version.size))
    this.#note()
  }

  write(offset: number, bytes: Uint8Array): void {
    this.#attempt(() => writeAll(this.#bytes, bytes, offset))
  }

  finish(index: number): void {
    this.#chunks.add(index)
    this.#note()
  }

  complete(size: number): void {
    this.#attempt(() => {
      this.#bytes.truncate(size)
      this.#bytes.flush()
    })
    this.close()
  }

  close(): void {
    this.#bytes.close()
    this.#journal.close()
  }

  #note(): void {
    const { size, etag } = this.#version ?? { size: 0, etag: '' }
    const journal: Journal = { url: this.#url, size, etag, chunks: [...this.#chunks] }
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
const HEADER: LostBytes = { start: 0, end: 4 * CHUNK_BYTES }

/**
 * Writes the journal of a file that is there but for what overlaps its lost bytes (default: its header), so that the next transfer asks whether it is still
 * the same and brings the rest.
 */
export async function reopen(
  folder: FileSystemDirectoryHandle,
  name: string,
  { url, size, etag }: Version & { readonly url: string },
  { start, end }: LostBytes = HEADER,
): Promise<void> {
  const isThere = (index: number) => (index + 1) * CHUNK_BYTES <= start || index * CHUNK_BYTES >= end
  const all = Array.from({ length: Math.ceil(size / CHUNK_BYTES) }, (_, index) => index)
  const file = await openSyncFile(folder, `${name}.part`)
  if (file === undefined) return
  try {
    writeJson(file, { url, size, etag, chunks: all.filter(isThere) } satisfies Journal)
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

  finish(): void {}

  complete(): void {
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
  const sizes = journal.chunks.map((index) => Math.min(CHUNK_BYTES, journal.size - index * CHUNK_BYTES))
  return { url: journal.url, loaded: sizes.reduce((sum, size) => sum + size, 0), total: journal.size }
}

async function readJournal(folder: FileSystemDirectoryHandle, name: string): Promise<Journal | undefined> {
  const { url, size, etag, chunks } = await readFields(folder, `${name}.part`)
  const isWhole =
    typeof url === 'string' &&
    typeof etag === 'string' &&
    isCount(size) &&
    areCounts(chunks) &&
    chunks.every((index) => index * CHUNK_BYTES < size) &&
    (await fileKey(url)) === name
  return isWhole ? { url, size, etag, chunks } : undefined
}
