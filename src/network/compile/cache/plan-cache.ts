// The plan cache of a network: what loads and first runs compute, in entries beside the model's files.
import type { ByteSource } from '../../../core/base/bytes.ts'
import { joinBytes } from '../../../core/base/bytes.ts'
import { sha256 } from '../../../core/base/sha256.ts'
import { isObject } from '../../../core/base/values.ts'
import { objectBytes, readObject } from './object-bytes.ts'

/**
 * The release, and a number to raise with each change of programs or functions in a release. An entry of
 * another version is replaced. `plan-version.test.ts` fails if this is forgotten.
 */
export const PLAN_VERSION = '0.1.0-6'

/** Where entries are stored, by key. */
export interface PlanStore {
  /** Undefined if there is no entry, or it was written for other files. */
  read(key: string): Promise<Uint8Array | undefined>
  write(key: string, bytes: Uint8Array): Promise<void>
  remove(key: string): Promise<void>
  /** Changes with the file's contents. Undefined for a file that is not stored. */
  versionOf(source: ByteSource): Promise<string | undefined>
}

/** The files of a network, whose constants entries refer to. */
interface NetworkFiles {
  /** The files that are open, and the paths by which `find` finds them. */
  readonly paths: ReadonlyMap<ByteSource, string>
  find(path: string): Promise<ByteSource | undefined>
}

/** An entry holds at most this many bytes. */
const MAX_BYTES = 32 << 20
/** Hex digits of the hash that each entry begins with. */
const HASH_DIGITS = 64

export class PlanCache {
  readonly #store: PlanStore
  readonly #files: NetworkFiles
  readonly #how: string

  /** `how`: the options on which programs depend. */
  constructor(store: PlanStore, files: NetworkFiles, how: string) {
    this.#store = store
    this.#files = files
    this.#how = how
  }

  /**
   * The entry's value as `from` reads it. Undefined if there is no entry. A damaged one, or one that another
   * version or other files made, is removed.
   */
  async read<Value>(key: string, from: (value: unknown) => Value): Promise<Value | undefined> {
    const own = this.#keyOf(key)
    try {
      const bytes = await this.#store.read(own)
      if (bytes === undefined) return undefined
      return from(await this.#valueIn(bytes, own))
    } catch {
      // Whatever is wrong with it, the graph's file has everything.
      await this.#store.remove(own).catch(() => undefined)
      return undefined
    }
  }

  /** Stores a value. Values that are too large or refer to unknown files are not stored. Never rejects. */
  async write(key: string, value: unknown): Promise<void> {
    const own = this.#keyOf(key)
    try {
      const names = await this.#names()
      const body = objectBytes({ version: PLAN_VERSION, key: own, value }, (object) => names.get(object))
      if (body.length > MAX_BYTES) return
      const hash = new TextEncoder().encode(await sha256(body))
      await this.#store.write(own, joinBytes([hash, body]))
    } catch {
      // A full disk, for instance. The next visit plans again.
    }
  }

  #keyOf(key: string): string {
    return `${this.#how} ${key}`
  }

  async #valueIn(bytes: Uint8Array, key: string): Promise<unknown> {
    const body = bytes.subarray(HASH_DIGITS)
    const hash = new TextDecoder().decode(bytes.subarray(0, HASH_DIGITS))
    if ((await sha256(body)) !== hash) throw new Error('its hash differs')
    const { names, restore } = readObject(body)
    const files = await Promise.all(names.map((name) => this.#file(name)))
    const root = restore(files)
    if (!isObject(root) || root['version'] !== PLAN_VERSION || root['key'] !== key)
      throw new Error('it is another entry')
    return root['value']
  }

  /** The file of a name. Throws if it is missing or has changed. */
  async #file(name: string): Promise<ByteSource> {
    const [path, version] = JSON.parse(name) as [string, string]
    const source = await this.#files.find(path)
    if (source !== undefined && (await this.#store.versionOf(source)) === version) return source
    throw new Error(`${path} has changed`)
  }

  /** Names of the files that are stored. */
  async #names(): Promise<ReadonlyMap<object, string>> {
    const names = new Map<object, string>()
    for (const [source, path] of this.#files.paths) {
      const version = await this.#store.versionOf(source)
      if (version !== undefined) names.set(source, JSON.stringify([path, version]))
    }
    return names
  }
}
