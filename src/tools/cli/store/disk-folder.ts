// A folder on disk, with the methods that a store uses of a browser's private file system.
import { randomUUID } from 'node:crypto'
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EntryFile, Folder, FolderEntry, SyncFile } from '../../../core/store/device/sync-file.ts'
import { isFullDisk } from '../system-errors.ts'

/** Stores make their own names; nothing else may become a path. */
const SAFE_NAME = /^[\w-]+(?:\.[a-z]+)?$/

/** Throws what `node:fs` throws, and a DOMException `QuotaExceededError` for a full disk, as browsers do. */
export class DiskFolder implements Folder {
  readonly #path: string
  readonly #drafts: string

  /** `drafts`: a folder on the same disk for files that are not complete yet. */
  constructor(path: string, drafts: string) {
    this.#path = path
    this.#drafts = drafts
  }

  async *keys(): AsyncGenerator<string> {
    yield* await readdir(this.#path)
  }

  async getFileHandle(name: string, { create = false } = {}): Promise<FolderEntry> {
    const path = this.#pathOf(name)
    if (create) await quotaErrors(async () => (await open(path, 'a')).close())
    else await stat(path)
    return {
      path,
      getFile: () => entryFile(path),
      createSyncAccessHandle: async ({ mode } = { mode: 'readwrite' }) =>
        Object.assign(openHandle(path, mode === 'read-only' ? 'r' : 'r+'), { mode }),
    }
  }

  async replace(name: string, text: string): Promise<void> {
    const path = this.#pathOf(name)
    await quotaErrors(async () => {
      await mkdir(this.#drafts, { recursive: true, mode: 0o700 })
      const draft = join(this.#drafts, randomUUID())
      try {
        await writeFile(draft, text, { flush: true })
        await rename(draft, path)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
    })
  }

  async removeEntry(name: string): Promise<void> {
    await rm(this.#pathOf(name))
  }

  #pathOf(name: string): string {
    if (SAFE_NAME.test(name)) return join(this.#path, name)
    throw new TypeError(`${name} is not a name that a store makes`)
  }
}

async function entryFile(path: string): Promise<EntryFile> {
  const { size, mtimeMs } = await stat(path)
  return {
    size,
    lastModified: mtimeMs,
    text: () => readFile(path, 'utf8'),
    slice(start = 0, end = size) {
      const file = openHandle(path, 'r')
      try {
        const bytes = new Uint8Array(Math.max(0, Math.min(end, size) - start))
        return new Blob([bytes.subarray(0, file.read(bytes, { at: start }))])
      } finally {
        file.close()
      }
    },
  }
}

/** Throws what `node:fs` throws. */
export function openHandle(path: string, flags: 'r' | 'r+'): SyncFile {
  const descriptor = openSync(path, flags)
  let isOpen = true
  return {
    read: (bytes, { at }) => readSync(descriptor, bytes, 0, bytes.byteLength, at),
    write: (bytes, { at }) => quotaErrorsNow(() => writeSync(descriptor, bytes, 0, bytes.byteLength, at)),
    truncate: (size) => quotaErrorsNow(() => ftruncateSync(descriptor, size)),
    getSize: () => fstatSync(descriptor).size,
    // The system keeps what a killed process has written. After a power failure, checksums find what is
    // missing, so that waiting for the disk twice for each chunk would only cost time.
    flush: () => undefined,
    close() {
      if (isOpen) closeSync(descriptor)
      isOpen = false
    },
  }
}

const asQuota = (error: unknown): unknown =>
  isFullDisk(error) ? new DOMException(String((error as Error).message), 'QuotaExceededError') : error

function quotaErrorsNow<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw asQuota(error)
  }
}

const quotaErrors = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error) => {
    throw asQuota(error)
  })
