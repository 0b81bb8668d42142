// Stored sessions. In: names, and files that come in pieces. Out: the newest whole file of each name, in the origin's private file system.
//
//   <key>-<turn>.bin    the pieces
//   <key>-<turn>.json   the manifest, written after the last of them; without it there is no file
//
// A file is only removed once the next one is whole, so that nothing half-written is read and nothing is lost on the way.
import type { ByteSource } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { alone } from './alone.ts'
import { fileKey, openFolder } from './folder.ts'
import { checkQuota, type Purpose, writeError } from './quota.ts'
import { storedSource } from './stored-source.ts'
import { openSyncFile, type SyncFile, writeAll, writeJson } from './sync-file.ts'

export interface StoredSession {
  readonly name: string
  /** Bytes on this device. */
  readonly size: number
  /** Milliseconds since 1970. */
  readonly saved: number
}

/** One file and its manifest. */
interface Entry extends StoredSession {
  /** Name of both, without the ending. */
  readonly base: string
  readonly turn: number
}

const FOLDER = 'halfbyte-sessions'
const ENTRY = /^([0-9a-f]{32})-(\d+)\.(bin|json)$/
const SESSION: Purpose = { what: 'the session needs', instead: 'remove a stored session or model' }

/** Sessions in the origin's private file system. Writing works in workers only. */
export class SessionStore {
  readonly #folder: FileSystemDirectoryHandle

  private constructor(folder: FileSystemDirectoryHandle) {
    this.#folder = folder
  }

  /** Undefined where there is no such storage, or the browser refuses it. */
  static async open(): Promise<SessionStore | undefined> {
    const folder = await openFolder(FOLDER)
    return folder && new SessionStore(folder)
  }

  /**
   * Writes a file of about `bytes` in place of the one of that name, which stays until the new one is whole. Throws `storage-full`, `unsupported` where the
   * browser cannot write so, and what `pieces` throws; then the old one is as it was.
   */
  async put(name: string, pieces: AsyncIterable<Uint8Array>, bytes: number): Promise<StoredSession> {
    const key = await fileKey(name)
    const stored = await alone(lockOf(key), async () => {
      const old = await this.#bases(key)
      const base = `${key}-${Math.max(0, ...old.map(turnOf)) + 1}`
      try {
        await checkQuota(bytes, SESSION)
        const size = await this.#write(`${base}.bin`, pieces, bytes)
        const manifest: StoredSession = { name, size, saved: Date.now() }
        await this.#writeManifest(`${base}.json`, manifest)
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

  /** Hands the file of that name to `use`, to be read while that runs; nobody replaces it meanwhile. Undefined when there is none. */
  async read<T>(name: string, use: (source: ByteSource) => Promise<T>): Promise<T | undefined> {
    const key = await fileKey(name)
    const find = async () => {
      const entry = newest(await this.#entries()).find((each) => each.name === name)
      if (entry === undefined) return undefined
      const source = await storedSource(name, await this.#folder.getFileHandle(`${entry.base}.bin`), true)
      return use(source).finally(() => source.close?.())
    }
    return alone(lockOf(key), find, 'shared')
  }

  /** In no particular order. */
  async list(): Promise<StoredSession[]> {
    return newest(await this.#entries()).map(({ name, size, saved }) => ({ name, size, saved }))
  }

  /** Waits until nobody reads or writes it. */
  async remove(name: string): Promise<void> {
    const key = await fileKey(name)
    await alone(lockOf(key), async () => this.#removeAll(await this.#bases(key)))
  }

  async #write(entry: string, pieces: AsyncIterable<Uint8Array>, bytes: number): Promise<number> {
    const file = await this.#create(entry, bytes)
    let size = 0
    try {
      for await (const piece of pieces) {
        size += piece.byteLength
        attempt(Math.max(size, bytes), () => writeAll(file, piece, size - piece.byteLength))
      }
      attempt(size, () => file.flush())
      return size
    } finally {
      file.close()
    }
  }

  async #writeManifest(entry: string, manifest: StoredSession): Promise<void> {
    const file = await this.#create(entry, manifest.size)
    try {
      attempt(manifest.size, () => writeJson(file, manifest))
    } finally {
      file.close()
    }
  }

  async #create(entry: string, size: number): Promise<SyncFile> {
    let file: SyncFile | undefined
    try {
      file = await openSyncFile(this.#folder, entry)
    } catch (cause) {
      throw writeError(size, cause, SESSION)
    }
    if (file === undefined) throw noStorage()
    return file
  }

  /** Whole files. */
  async #entries(): Promise<Entry[]> {
    const found: Entry[] = []
    for await (const entry of this.#folder.keys()) {
      const [, key, turn, ending] = ENTRY.exec(entry) ?? []
      if (key === undefined || ending !== 'json') continue
      const base = `${key}-${turn}`
      const manifest = await this.#manifest(entry)
      const file = await this.#file(`${base}.bin`)
      if (manifest !== undefined && file?.size === manifest.size)
        found.push({ ...manifest, base, turn: Number(turn) })
    }
    return found
  }

  /** What there is of a name, whole or not. */
  async #bases(key: string): Promise<string[]> {
    const found = new Set<string>()
    for await (const entry of this.#folder.keys()) {
      if (ENTRY.exec(entry)?.[1] === key) found.add(entry.slice(0, entry.indexOf('.')))
    }
    return [...found]
  }

  /** Removes what tabs that were closed in the middle have left, of any name. */
  async #sweep(): Promise<void> {
    const whole = new Set((await this.#entries()).map(({ base }) => base))
    const keys = new Set<string>()
    for await (const entry of this.#folder.keys()) {
      const [, key, turn] = ENTRY.exec(entry) ?? []
      if (key !== undefined && !whole.has(`${key}-${turn}`)) keys.add(key)
    }
    for (const key of keys) {
      const removeRest = async () => {
        const kept = newest(await this.#entries()).map(({ base }) => base)
        await this.#removeAll((await this.#bases(key)).filter((base) => !kept.includes(base)))
      }
      await alone(lockOf(key), removeRest, 'unused')
    }
  }

  async #manifest(entry: string): Promise<StoredSession | undefined> {
    try {
      const { name, size, saved } = JSON.parse((await (await this.#file(entry))?.text()) ?? '')
      const isWhole = typeof name === 'string' && typeof size === 'number' && typeof saved === 'number'
      return isWhole ? { name, size, saved } : undefined
    } catch {
      return undefined
    }
  }

  async #file(entry: string): Promise<File | undefined> {
    try {
      return await (await this.#folder.getFileHandle(entry)).getFile()
    } catch {
      return undefined
    }
  }

  /** Manifests go first: without them there are no files. */
  async #removeAll(bases: readonly string[]): Promise<void> {
    for (const ending of ['json', 'bin']) {
      for (const base of bases) await this.#folder.removeEntry(`${base}.${ending}`).catch(() => undefined)
    }
  }
}

/** Where nothing can be stored. */
export const noStorage = (): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    'nothing can be stored here (a private window, a page without TLS, or no browser); keep the file that session.save() gives',
  )

const lockOf = (key: string): string => `session-${key}`

function attempt(size: number, work: () => void): void {
  try {
    work()
  } catch (cause) {
    throw writeError(size, cause, SESSION)
  }
}

const turnOf = (base: string): number => Number(base.slice(base.indexOf('-') + 1))

function newest(entries: readonly Entry[]): Entry[] {
  const found = new Map<string, Entry>()
  for (const entry of entries) {
    if (entry.turn > (found.get(entry.name)?.turn ?? 0)) found.set(entry.name, entry)
  }
  return [...found.values()]
}
