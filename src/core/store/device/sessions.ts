// Stores sessions by name in the origin's private file system, and finds the newest complete file of each
// name.
//
//   <key>-<turn>.bin    the pieces
//   <key>-<turn>.json   the manifest, written after the last of them; without it there is no file
//
// A file is removed only once the next one is complete, so half-written files are never read and no session
// is lost.

import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { dateNow } from '../../base/time/clocks.ts'
import { isCount } from '../../base/values.ts'
import { alone, fileKey, openFolder, readFields, readFile } from './notes.ts'
import { storedSource } from './stored-source.ts'
import {
  BROWSER_ROOM,
  checkRoom,
  type Folder,
  openSyncFile,
  type Purpose,
  writeAll,
  writeError,
} from './sync-file.ts'

/** A session that `store` has saved on this device. */
export interface StoredSession {
  /** The name passed to `store`. */
  readonly name: string
  /** Bytes on this device. */
  readonly size: number
  /** Milliseconds since 1970. */
  readonly saved: number
}

/** One file and its manifest. */
interface Entry extends StoredSession {
  /** The name of both, without extension. */
  readonly base: string
}

const FOLDER = 'halfbyte-sessions'
const KEY_DIGITS = 32
const ENTRY = /^[0-9a-f]{32}-\d{1,15}\.(bin|json)$/
const SESSION: Purpose = { what: 'the session needs', instead: 'remove a stored session or model' }

/** Sessions in the origin's private file system. Writing works only in workers. */
export class SessionStore {
  readonly #folder: Folder

  private constructor(folder: Folder) {
    this.#folder = folder
  }

  /** Undefined if the browser has no such storage or denies it. */
  static async open(): Promise<SessionStore | undefined> {
    const folder = await openFolder(FOLDER)
    return folder && new SessionStore(folder)
  }

  /**
   * Writes a file of about `bytes` that replaces the one with the same name once it is complete. Throws
   * `storage-full`, `unsupported` if the browser cannot write this way, and the errors of `pieces`; the old
   * file then stays unchanged.
   */
  async put(name: string, pieces: AsyncIterable<Uint8Array>, bytes: number): Promise<StoredSession> {
    const key = await fileKey(name)
    const stored = await alone(lockOf(key), async () => {
      const old = await this.#bases(key)
      const base = `${key}-${turnOf(old[0] ?? '') + 1}`
      try {
        await checkRoom(bytes, BROWSER_ROOM, SESSION)
        const size = await this.#write(`${base}.bin`, pieces, bytes)
        const manifest: StoredSession = { name, size, saved: dateNow() }
        const json = new TextEncoder().encode(JSON.stringify(manifest))
        await this.#write(`${base}.json`, [json], json.length)
        await this.#removeAll(old)
        return manifest
      } catch (error) {
        await this.#removeAll([base])
        throw error
      }
    })
    await this.#sweep()
    return stored
  }

  /**
   * Passes the file with that name to `use`, which may read it while it runs; nobody replaces the file
   * meanwhile. Undefined if there is no such file.
   */
  async read<T>(name: string, use: (source: ByteSource) => Promise<T>): Promise<T | undefined> {
    const key = await fileKey(name)
    const find = async () => {
      for (const base of await this.#bases(key)) {
        // The session's blocks have their own checksums.
        const open = async () =>
          storedSource(name, await this.#folder.getFileHandle(`${base}.bin`), { sums: [], isChecked: true })
        // Each of these calls is slow in browsers.
        const [manifest, source] = await Promise.all([this.#manifest(base), open().catch(() => undefined)])
        try {
          if (source !== undefined && source.size === manifest?.size) return await use(source)
        } finally {
          source?.close?.()
        }
      }
      return undefined
    }
    return alone(lockOf(key), find, 'shared')
  }

  /** In no particular order. */
  async list(): Promise<StoredSession[]> {
    return newest(await this.#entries(await this.#bases())).map(({ name, size, saved }) => ({
      name,
      size,
      saved,
    }))
  }

  /** Waits until nobody is reading or writing the session. */
  async remove(name: string): Promise<void> {
    const key = await fileKey(name)
    await alone(lockOf(key), async () => this.#removeAll(await this.#bases(key)))
  }

  async #write(
    entry: string,
    pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    bytes: number,
  ): Promise<number> {
    let size = 0
    const attempt = async <T>(work: () => T): Promise<Awaited<T>> => {
      try {
        return await work()
      } catch (cause) {
        throw writeError(Math.max(size, bytes), cause, BROWSER_ROOM, SESSION)
      }
    }
    const file = await attempt(() => openSyncFile(this.#folder, entry))
    if (file === undefined) throw noStorage()
    try {
      for await (const piece of pieces) {
        await attempt(() => writeAll(file, piece, size))
        size += piece.byteLength
      }
      await attempt(() => file.flush())
      return size
    } finally {
      file.close()
    }
  }

  /** The complete sessions among `bases`. */
  async #entries(bases: readonly string[]): Promise<Entry[]> {
    const found: Entry[] = []
    for (const base of bases) {
      const manifest = await this.#manifest(base)
      if (manifest !== undefined && (await readFile(this.#folder, `${base}.bin`))?.size === manifest.size)
        found.push({ ...manifest, base })
    }
    return found
  }

  /** All files with one name or with any name, complete or not, newest first. */
  async #bases(key = ''): Promise<string[]> {
    const found = new Set<string>()
    for await (const entry of this.#folder.keys()) {
      if (entry.startsWith(key) && ENTRY.test(entry)) found.add(entry.slice(0, entry.indexOf('.')))
    }
    return [...found].sort((a, b) => turnOf(b) - turnOf(a))
  }

  /** Removes unfinished files of closed tabs, whatever their name. */
  async #sweep(): Promise<void> {
    for (const key of new Set((await this.#halves()).map(keyOf))) {
      // Another tab may have completed them in the meantime.
      const removeRest = async () => this.#removeAll(await this.#halves(key))
      await alone(lockOf(key), removeRest, 'unused')
    }
  }

  /** Files with one name or with any name that are incomplete or have a newer version. */
  async #halves(key?: string): Promise<string[]> {
    const bases = await this.#bases(key)
    const kept = newest(await this.#entries(bases)).map(({ base }) => base)
    return bases.filter((base) => !kept.includes(base))
  }

  async #manifest(base: string): Promise<StoredSession | undefined> {
    const { name, size, saved } = await readFields(this.#folder, `${base}.json`)
    const isWhole =
      typeof name === 'string' && isCount(size) && isCount(saved) && (await fileKey(name)) === keyOf(base)
    return isWhole ? { name, size, saved } : undefined
  }

  /** The manifests are removed first: without them the files do not exist. */
  async #removeAll(bases: readonly string[]): Promise<void> {
    for (const ending of ['json', 'bin']) {
      for (const base of bases) await this.#folder.removeEntry(`${base}.${ending}`).catch(() => undefined)
    }
  }
}

/** The error if nothing can be stored. */
export const noStorage = (): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    'storage is unavailable here (a private window, a page without TLS, or no browser); keep the file from session.save()',
  )

const lockOf = (key: string): string => `session-${key}`

const keyOf = (base: string): string => base.slice(0, KEY_DIGITS)

const turnOf = (base: string): number => Number(base.slice(KEY_DIGITS + 1))

/** `entries` are sorted, newest first. */
const newest = (entries: readonly Entry[]): Entry[] =>
  entries.filter((entry) => entries.find(({ name }) => name === entry.name) === entry)
