// OPFS. In: a URL and its bytes. Out: the same bytes as a File on the next visit; a file without its manifest does not exist.
import { HalfbyteError } from '../base/errors.ts'
import type { Sink } from './download.ts'

/** What is known of a stored file; written after its last byte, so that a half-written file is never read as whole. */
interface Manifest {
  readonly url: string
  readonly size: number
  readonly etag: string
}

export interface StoredFile {
  readonly url: string
  /** Bytes. */
  readonly size: number
}

const FOLDER = 'halfbyte-models'

async function key(url: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(url)))
  return Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Model files in the origin's private file system. Files are keyed by address. */
export class Opfs {
  readonly #folder: FileSystemDirectoryHandle
  private constructor(folder: FileSystemDirectoryHandle) {
    this.#folder = folder
  }

  /** Undefined where the browser refuses storage (private windows, insecure pages): then run from memory. */
  static async open(): Promise<Opfs | undefined> {
    try {
      const root = await navigator.storage.getDirectory()
      return new Opfs(await root.getDirectoryHandle(FOLDER, { create: true }))
    } catch {
      return undefined
    }
  }

  /** The stored file, or undefined when it is absent, incomplete or shorter than its manifest says. */
  async find(url: string): Promise<File | undefined> {
    const name = await key(url)
    const manifest = await this.#manifest(`${name}.json`)
    if (manifest === undefined || manifest.url !== url) return undefined
    try {
      const file = await (await this.#folder.getFileHandle(`${name}.bin`)).getFile()
      return file.size === manifest.size ? file : undefined
    } catch {
      return undefined
    }
  }

  /**
   * Opens a file for writing; what is stored under its name stays as it is until `close`, which writes the manifest last.
   * Throws `storage-full` when `size` bytes do not fit. Undefined where the browser cannot write.
   */
  async sink(url: string, size: number, etag: string): Promise<Sink<File> | undefined> {
    await checkQuota(size)
    const name = await key(url)
    let handle: FileSystemFileHandle
    let stream: FileSystemWritableFileStream
    try {
      handle = await this.#folder.getFileHandle(`${name}.bin`, { create: true })
      stream = await handle.createWritable()
    } catch {
      return undefined
    }
    let written = 0
    return {
      write: async (bytes) => {
        await stream.write(new Uint8Array(bytes)).catch((cause) => {
          throw writeError(size, cause)
        })
        written += bytes.byteLength
      },
      close: () =>
        alone(name, async () => {
          // Another tab was faster, and may be reading from its file.
          const twin = await this.find(url)
          if (twin?.size === written) {
            await stream.abort()
            return twin
          }
          try {
            await stream.close()
            const file = await handle.getFile()
            await this.#writeManifest(`${name}.json`, { url, size: file.size, etag })
            return file
          } catch (cause) {
            throw writeError(size, cause)
          }
        }),
      abort: () =>
        alone(name, async () => {
          await stream.abort().catch(() => undefined)
          if ((await this.find(url)) === undefined) await this.#removeBoth(name)
        }),
    }
  }

  /** Complete files, in no particular order. */
  async list(): Promise<StoredFile[]> {
    const found: StoredFile[] = []
    for await (const name of this.#folder.keys()) {
      const manifest = name.endsWith('.json') ? await this.#manifest(name) : undefined
      if (manifest !== undefined) found.push({ url: manifest.url, size: manifest.size })
    }
    return found
  }

  async remove(url: string): Promise<void> {
    const name = await key(url)
    await alone(name, () => this.#removeBoth(name))
  }

  async #removeBoth(name: string): Promise<void> {
    await this.#remove(`${name}.json`)
    await this.#remove(`${name}.bin`)
  }

  async #manifest(name: string): Promise<Manifest | undefined> {
    try {
      const file = await (await this.#folder.getFileHandle(name)).getFile()
      const value: unknown = JSON.parse(await file.text())
      const { url, size, etag } = value as Partial<Manifest>
      return typeof url === 'string' && typeof size === 'number' && typeof etag === 'string'
        ? { url, size, etag }
        : undefined
    } catch {
      return undefined
    }
  }

  async #writeManifest(name: string, manifest: Manifest): Promise<void> {
    const stream = await (await this.#folder.getFileHandle(name, { create: true })).createWritable()
    await stream.write(JSON.stringify(manifest))
    await stream.close()
  }

  async #remove(name: string): Promise<void> {
    await this.#folder.removeEntry(name).catch(() => undefined)
  }
}

/**
 * Runs `work` while no other tab works on the same name: between a file's last byte and its manifest, another would take
 * it for unfinished and replace it under its reader.
 */
async function alone<T>(name: string, work: () => Promise<T>): Promise<T> {
  const { locks } = navigator
  if (locks === undefined) return work()
  return await locks.request(`halfbyte-store-${name}`, work)
}

async function checkQuota(size: number): Promise<void> {
  // Safari 16 has the file system and no estimate.
  const { quota, usage } = (await navigator.storage.estimate?.()) ?? {}
  if (quota === undefined || usage === undefined || size <= quota - usage) return
  throw full(size, undefined, quota - usage)
}

function writeError(size: number, cause: unknown): HalfbyteError {
  const isFull = cause instanceof Error && cause.name === 'QuotaExceededError'
  if (isFull) return full(size, cause)
  const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  return new HalfbyteError(
    'internal',
    `the browser's storage failed (${why}); load it again or without storing`,
    {},
    { cause },
  )
}

/** `size` is 0 when the server did not say, `free` is absent when the browser did not. */
function full(size: number, cause: unknown, free?: number): HalfbyteError {
  const need = size > 0 ? `the model needs ${size} bytes of storage` : 'the model needs storage'
  const room = free === undefined ? 'the browser has no room for it' : `the browser has room for ${free}`
  return new HalfbyteError(
    'storage-full',
    `${need} but ${room}; remove a stored model or load without storing`,
    { size, ...(free !== undefined && { free }) },
    { cause },
  )
}
