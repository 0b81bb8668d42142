// Gives the soak an origin private file system in a local folder.
//
// Handles are real file descriptors, so that the soak notices an unclosed one.
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

interface Place {
  readonly at: number
}

class StoredFile {
  readonly #path: string
  readonly #name: string

  constructor(path: string, name: string) {
    this.#path = path
    this.#name = name
  }

  async getFile(): Promise<File> {
    return new File([await readFile(this.#path)], this.#name)
  }

  async createSyncAccessHandle({ mode = 'readwrite' } = {}) {
    const file = openSync(this.#path, mode === 'read-only' ? 'r' : 'r+')
    return {
      mode,
      read: (bytes: Uint8Array, { at }: Place) => readSync(file, bytes, 0, bytes.length, at),
      write: (bytes: Uint8Array, { at }: Place) => writeSync(file, bytes, 0, bytes.length, at),
      truncate: (size: number) => ftruncateSync(file, size),
      getSize: () => fstatSync(file).size,
      flush: () => fsyncSync(file),
      close: () => closeSync(file),
    }
  }
}

class StoredFolder {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  async getDirectoryHandle(name: string): Promise<StoredFolder> {
    await mkdir(join(this.#path, name), { recursive: true })
    return new StoredFolder(join(this.#path, name))
  }

  async *keys(): AsyncGenerator<string> {
    yield* await readdir(this.#path)
  }

  async getFileHandle(name: string, { create = false } = {}): Promise<StoredFile> {
    const path = join(this.#path, name)
    const file = await open(path, create ? 'a' : 'r')
    await file.close()
    return new StoredFile(path, name)
  }

  removeEntry(name: string): Promise<void> {
    return rm(join(this.#path, name))
  }
}

/** Gives this process storage in `folder`, because Node, unlike browsers, has none. */
export async function provideStorage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const storage = { getDirectory: async () => new StoredFolder(folder) }
  Object.defineProperty(navigator, 'storage', { value: storage, configurable: true })
}
