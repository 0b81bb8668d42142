// Folders in memory. In: nothing. Out: an origin's private file system as a worker sees it, and which files were read.
import { afterEach, vi } from 'vitest'

class Entry {
  bytes = new Uint8Array()
  readonly name: string
  readonly #reads: string[]

  constructor(name: string, reads: string[]) {
    this.name = name
    this.#reads = reads
  }

  async getFile(): Promise<File> {
    this.#reads.push(this.name)
    return new File([this.bytes], this.name)
  }

  async createSyncAccessHandle(options?: { readonly mode: string }) {
    return {
      mode: options?.mode ?? 'readwrite',
      read: (target: Uint8Array, { at }: { readonly at: number }) => {
        const found = this.bytes.subarray(at, at + target.byteLength)
        target.set(found)
        return found.byteLength
      },
      write: (bytes: Uint8Array, { at }: { readonly at: number }) => {
        this.#resize(Math.max(this.bytes.byteLength, at + bytes.byteLength))
        this.bytes.set(bytes, at)
        return bytes.byteLength
      },
      truncate: (size: number) => this.#resize(size),
      getSize: () => this.bytes.byteLength,
      flush() {},
      close() {},
    }
  }

  #resize(size: number): void {
    if (size === this.bytes.byteLength) return
    const resized = new Uint8Array(size)
    resized.set(this.bytes.subarray(0, size))
    this.bytes = resized
  }
}

class Folder {
  readonly entries = new Map<string, Entry>()
  /** Names of the files that were read as a File, in order. */
  readonly reads: string[] = []

  async *keys(): AsyncGenerator<string> {
    yield* [...this.entries.keys()]
  }

  async getFileHandle(name: string, { create = false } = {}): Promise<Entry> {
    const found = this.entries.get(name) ?? (create ? new Entry(name, this.reads) : undefined)
    if (found === undefined) throw new DOMException('there is none', 'NotFoundError')
    this.entries.set(name, found)
    return found
  }

  async removeEntry(name: string): Promise<void> {
    if (!this.entries.delete(name)) throw new DOMException('there is none', 'NotFoundError')
  }

  /** Writes past the store. */
  put(name: string, contents: string): void {
    const entry = new Entry(name, this.reads)
    entry.bytes = new TextEncoder().encode(contents)
    this.entries.set(name, entry)
  }
}

/** Gives this test storage of its own; the result is a folder of it by name. */
export function memoryStorage(): (name: string) => Folder {
  const folders = new Map<string, Folder>()
  const folder = (name: string): Folder => {
    const found = folders.get(name) ?? new Folder()
    folders.set(name, found)
    return found
  }
  const root = { getDirectoryHandle: async (name: string) => folder(name) }
  vi.stubGlobal('navigator', { storage: { getDirectory: async () => root } })
  return folder
}

afterEach(() => {
  vi.unstubAllGlobals()
})
