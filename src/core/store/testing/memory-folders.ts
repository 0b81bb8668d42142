// In-memory folders: an origin's private file system for tests, which records its reads.
import { vi } from 'vitest'

let clock = Date.now()

class Entry {
  bytes = new Uint8Array()
  /** The buffer that holds the bytes, with spare capacity. */
  #room = this.bytes
  /** Time of the last change, on a clock that always advances. */
  changed = ++clock
  readonly name: string
  readonly #folder: Folder

  constructor(name: string, folder: Folder) {
    this.name = name
    this.#folder = folder
  }

  async getFile(): Promise<File> {
    this.#folder.reads.push(this.name)
    return new File([this.bytes], this.name, { lastModified: this.changed })
  }

  async createSyncAccessHandle(options?: { readonly mode: string }) {
    const note = (what: string) => this.#folder.note(what, this.name)
    return {
      mode: options?.mode ?? 'readwrite',
      read: (target: Uint8Array, { at }: { readonly at: number }) => {
        this.#folder.readInto.add(target.buffer)
        const found = this.bytes.subarray(at, at + target.byteLength)
        target.set(found)
        return found.byteLength
      },
      write: (bytes: Uint8Array, { at }: { readonly at: number }) => {
        note('write')
        const answer = this.#folder.disk.take(bytes.byteLength)
        // A full disk does not necessarily return 0.
        const taken = answer >= 0 && answer <= bytes.byteLength ? answer : 0
        if (taken === 0) return answer
        this.changed = ++clock
        this.#resize(Math.max(this.bytes.byteLength, at + taken))
        this.bytes.set(bytes.subarray(0, taken), at)
        return answer
      },
      truncate: (size: number) => {
        note('truncate')
        this.changed = ++clock
        this.#resize(size)
      },
      getSize: () => this.bytes.byteLength,
      flush: () => note('flush'),
      close: () => note('close'),
    }
  }

  #resize(size: number): void {
    const before = this.bytes
    if (size === before.byteLength) return
    if (before.buffer !== this.#room.buffer || size > this.#room.byteLength) {
      this.#room = new Uint8Array(size > before.byteLength && before.byteLength > 0 ? 2 * size : size)
      this.#room.set(before.subarray(0, size))
    }
    this.bytes = this.#room.subarray(0, size)
    this.bytes.fill(0, Math.min(size, before.byteLength))
  }
}

/** The ways in which a disk may misbehave. */
export interface Disk {
  /** Called before each change. An error thrown here fails the change. */
  step(what: string): void
  /** The return value of a write. That many bytes are written, or none if the value is meaningless. */
  take(bytes: number): number
}

const SOUND: Disk = { step() {}, take: (bytes) => bytes }

class Folder {
  readonly entries = new Map<string, Entry>()
  /** Names of the files that were read as a File, in order. */
  readonly reads: string[] = []
  /** Memory that handles have read into. A browser may keep it for as long as it likes. */
  readonly readInto = new Set<ArrayBufferLike>()
  /** Changes to files in order, e.g. `write` and the file's extension. Repeated changes are listed once. */
  readonly changes: string[] = []

  disk: Disk = SOUND

  note(what: string, name: string): void {
    this.disk.step(what)
    const change = `${what} ${name.replace(/.*\./, '')}`
    if (this.changes.at(-1) !== change) this.changes.push(change)
  }

  async *keys(): AsyncGenerator<string> {
    yield* [...this.entries.keys()]
  }

  async getFileHandle(name: string, { create = false } = {}): Promise<Entry> {
    const isNew = create && !this.entries.has(name)
    if (isNew) this.disk.step('create')
    const found = this.entries.get(name) ?? (isNew ? new Entry(name, this) : undefined)
    if (found === undefined) throw new DOMException('there is none', 'NotFoundError')
    this.entries.set(name, found)
    return found
  }

  async removeEntry(name: string): Promise<void> {
    if (!this.entries.has(name)) throw new DOMException('there is none', 'NotFoundError')
    this.note('remove', name)
    this.entries.delete(name)
  }

  /** Writes a file directly, without the store. */
  put(name: string, contents: string): void {
    const entry = new Entry(name, this)
    entry.bytes = new TextEncoder().encode(contents)
    this.entries.set(name, entry)
  }
}

/** Gives the current test its own storage, until it ends. Returns a function from a name to its folder. */
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
