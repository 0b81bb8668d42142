// Stores model files on a device: a page's private file system (OPFS), or a folder on disk in Node. A file
// without its manifest does not count.

import type { ByteSource } from '../../base/bytes.ts'
import { dateNow } from '../../base/time/clocks.ts'
import { fileName } from '../address.ts'
import { madeFrom } from '../derived.ts'
import { BROWSER, type Device } from './device.ts'
import { asChecked, type Manifest, missingNote, readManifest, readMissing } from './manifest.ts'
import { fileKey, readFile } from './notes.ts'
import type { Version } from './part-file.ts'
import { type LostBytes, PartFile, partialProgress, reopen, type StoredPart } from './part-file.ts'
import { storedSource } from './stored-source.ts'
import { type EntryFile, type Folder, openSyncFile, writeError, writeJson } from './sync-file.ts'

/** A downloaded file on this device. */
export interface StoredFile {
  /** The address from which it was downloaded. */
  readonly url: string
  /** Bytes on this device. */
  readonly size: number
  /** Milliseconds since 1970 of the last load, or of the last byte of an unfinished download. */
  readonly used: number
  /** False for an unfinished download. */
  readonly isComplete: boolean
}

/** A file on this device, or one that is missing on its server. */
export interface KnownFile extends StoredFile {
  /** True if the server had no such file when a load asked for it. */
  readonly isMissing: boolean
  /** The `turn` of its manifest; 0 for an unfinished download. */
  readonly turn: number
  readonly knowsMissing: boolean
}

/** The progress of another tab or process that is downloading the same file. */
type OnWait = (loaded: number, total: number) => void

const FOLDER = 'halfbyte-models'
const WAIT_MS = 500

/** The highest turn that this worker has seen. */
let lastTurn: number | undefined

/** Model files on a device, by address. */
export class ModelStore {
  readonly #folder: Folder
  readonly #device: Device
  private constructor(folder: Folder, device: Device) {
    this.#folder = folder
    this.#device = device
  }

  /**
   * Undefined if the device denies storage (private windows, insecure pages, a folder that cannot be made):
   * then run from memory.
   */
  static async open(device: Device = BROWSER): Promise<ModelStore | undefined> {
    const folder = await device.openFolder(FOLDER)
    return folder && new ModelStore(folder, device)
  }

  /** The stored file; undefined if it is absent, incomplete or shorter than its manifest says. */
  async find(url: string): Promise<EntryFile | undefined> {
    const name = await fileKey(url)
    const manifest = await this.#manifest(name)
    if (manifest === undefined) return undefined
    const file = await readFile(this.#folder, `${name}.bin`)
    return file?.size === manifest.size ? file : undefined
  }

  /** The version of a stored file; undefined if it is absent or incomplete. */
  async version(url: string): Promise<Version | undefined> {
    const manifest = await this.#manifest(await fileKey(url))
    return manifest && { size: manifest.size, etag: manifest.etag }
  }

  /** Like `find`, but opens a source that verifies checksums on reading. The reader closes it. */
  async openStored(url: string): Promise<ByteSource | undefined> {
    const name = await fileKey(url)
    const manifest = await this.#manifest(name)
    if (manifest === undefined || (await this.find(url)) === undefined) return undefined
    const handle = await this.#folder.getFileHandle(`${name}.bin`).catch(() => undefined)
    return handle && storedSource(fileName(url), handle, manifest)
  }

  /** Records that the bytes have been compared with the hashes inside the file. Works only in a worker. */
  async noteChecked(url: string): Promise<void> {
    const name = await fileKey(url)
    const manifest = await this.#manifest(name)
    if (manifest === undefined || manifest.isChecked === true) return
    await this.#writeManifest(name, asChecked(manifest)).catch(() => undefined)
  }

  /**
   * Records that the file has just been used, and that its folder's missing files are known. Has no effect
   * outside of a worker or if it fails.
   */
  async touch(url: string, knowsMissing = false): Promise<void> {
    const name = await fileKey(url)
    const manifest = await this.#manifest(name)
    if (manifest === undefined) return
    const touched = {
      ...manifest,
      used: dateNow(),
      turn: await this.#nextTurn(),
      knowsMissing: manifest.knowsMissing === true || knowsMissing,
    }
    await this.#writeManifest(name, touched).catch(() => undefined)
  }

  /**
   * Runs `write` on the file of `url` while no other tab or process does; if one does, `onWait` is called
   * with its progress. Returns the file, written by `write` or by another tab or process. `write` returns
   * undefined if there is nothing to store, which `notesMissing` records. The result is also undefined if the
   * browser cannot write in place; nothing is written then.
   */
  async fill(
    url: string,
    write: (part: StoredPart) => Promise<Version | undefined>,
    {
      onWait,
      signal,
      notesMissing = false,
    }: {
      readonly onWait?: OnWait
      readonly signal?: AbortSignal | undefined
      readonly notesMissing?: boolean
    } = {},
  ): Promise<{ readonly file: EntryFile | undefined } | undefined> {
    const name = await fileKey(url)
    return this.#alone(name, { onWait, signal }, async () => {
      const found = await this.find(url)
      if (found !== undefined) return { file: found }
      const part = await PartFile.open(this.#folder, name, url, this.#device.room)
      if (part === undefined) return undefined
      try {
        const version = await write(part)
        if (version === undefined) {
          part.close()
          await this.#removeAll(name)
          // If the disk is full, the next load requests it from the server again.
          if (notesMissing) await this.#writeJson(name, missingNote(url)).catch(() => undefined)
          return { file: undefined }
        }
        const sums = part.complete(version.size)
        const { isDoubted } = part
        const used = { used: dateNow(), turn: await this.#nextTurn() }
        const manifest = { ...version, url, ...used, sums, isDoubted, knowsMissing: true }
        await this.#writeManifest(name, manifest)
        await this.#remove(`${name}.part`)
        return { file: await readFile(this.#folder, `${name}.bin`) }
      } catch (error) {
        part.close()
        const isFull = error instanceof Error && 'code' in error && error.code === 'storage-full'
        // A partial file that cannot be completed would only take space from files that fit.
        if (isFull) await this.#removeAll(name)
        throw error
      }
    })
  }

  /**
   * Turns a stored file back into an unfinished download: the next load asks the server whether the file is
   * unchanged, and downloads the chunks that overlap `lost`. Only in a worker.
   */
  async doubt(url: string, lost?: LostBytes): Promise<void> {
    const name = await fileKey(url)
    await this.#alone(name, {}, async () => {
      const manifest = await this.#manifest(name)
      if (manifest === undefined) return
      await reopen(this.#folder, name, manifest, lost)
      await this.#remove(`${name}.json`)
    })
  }

  /** Unfinished downloads, then complete files; each least recently used first. */
  async list(): Promise<StoredFile[]> {
    const known = await this.known()
    // Downloads, and files of earlier releases, are ordered by date. Turns keep their order even if the clock
    // is set back.
    known.sort(
      (left, right) =>
        Number(left.isComplete) - Number(right.isComplete) ||
        left.turn - right.turn ||
        left.used - right.used,
    )
    return known.flatMap(({ isMissing, knowsMissing: _, turn: __, ...file }) => (isMissing ? [] : [file]))
  }

  /**
   * Like `list`, but includes files that servers lack. Removes everything else that nobody is writing, and
   * the journals of complete files.
   */
  async known(): Promise<KnownFile[]> {
    const entries = new Set<string>()
    for await (const entry of this.#folder.keys()) entries.add(entry)
    const found: KnownFile[] = []
    for (const name of new Set([...entries].map((entry) => entry.replace(/\..*/, '')))) {
      const file = await this.#known(name)
      const isUseless = file === undefined || isUnfinishedCopy(file)
      if (!isUseless) found.push(file)
      const isClear = !isUseless && !(file.isComplete && entries.has(`${name}.part`))
      if (!isClear) await this.#device.alone(lockOf(name), () => this.#clear(name), 'unused')
    }
    return found
  }

  /** Removes the leftovers of a killed worker. Another worker may have completed them by now. */
  async #clear(name: string): Promise<void> {
    const file = await this.#known(name)
    if (file === undefined || isUnfinishedCopy(file)) await this.#removeAll(name)
    else if (file.isComplete) await this.#remove(`${name}.part`)
  }

  async #known(name: string): Promise<KnownFile | undefined> {
    const manifest = await this.#manifest(name)
    if (manifest !== undefined) {
      const size = (await readFile(this.#folder, `${name}.bin`))?.size ?? 0
      return { ...pick(manifest), size, isComplete: size === manifest.size, isMissing: false }
    }
    const unknown = { isComplete: false, knowsMissing: false, turn: 0 }
    const progress = await partialProgress(this.#folder, name)
    if (progress !== undefined) {
      const used = (await readFile(this.#folder, `${name}.part`))?.lastModified ?? 0
      return { ...unknown, url: progress.url, size: progress.loaded, used, isMissing: false }
    }
    const url = await readMissing(this.#folder, name)
    return url === undefined ? undefined : { ...unknown, url, size: 0, used: 0, isMissing: true }
  }

  /** Waits until nobody is writing the file. */
  async remove(url: string): Promise<void> {
    const name = await fileKey(url)
    await this.#alone(name, {}, () => this.#removeAll(name))
  }

  /**
   * Between the first byte and the manifest, another tab would consider the file unfinished and replace it
   * under its reader.
   */
  async #alone<T>(
    name: string,
    { onWait, signal }: { readonly onWait?: OnWait | undefined; readonly signal?: AbortSignal | undefined },
    work: () => Promise<T>,
  ): Promise<T> {
    const waiting = setInterval(async () => {
      const progress = await partialProgress(this.#folder, name)
      if (progress !== undefined) onWait?.(progress.loaded, progress.total)
    }, WAIT_MS)
    try {
      const begin = () => {
        clearInterval(waiting)
        return work()
      }
      return await this.#device.alone(lockOf(name), begin, 'exclusive', signal)
    } finally {
      clearInterval(waiting)
    }
  }

  /**
   * The time, or the previous turn plus one if the clock was set back. Manifests are read only for a worker's
   * first turn. If the clock was set back, tabs that load at the same time may be ordered wrongly.
   */
  async #nextTurn(): Promise<number> {
    const last = lastTurn ?? (await this.#highestTurn())
    lastTurn = Math.max(dateNow(), last + 1, lastTurn ?? 0)
    return lastTurn
  }

  async #highestTurn(): Promise<number> {
    let highest = 0
    for await (const entry of this.#folder.keys()) {
      if (!entry.endsWith('.json')) continue
      const manifest = await this.#manifest(entry.slice(0, -'.json'.length))
      highest = Math.max(highest, manifest?.turn ?? 0)
    }
    return highest
  }

  #manifest(name: string): Promise<Manifest | undefined> {
    return readManifest(this.#folder, name)
  }

  async #writeManifest(name: string, manifest: Manifest): Promise<void> {
    await this.#writeJson(name, manifest).catch((cause) => {
      throw writeError(manifest.size, cause, this.#device.room)
    })
  }

  async #writeJson(name: string, value: unknown): Promise<void> {
    if (this.#folder.replace !== undefined) return this.#folder.replace(`${name}.json`, JSON.stringify(value))
    const file = await openSyncFile(this.#folder, `${name}.json`)
    if (file === undefined) throw new Error('it does not support writing in place')
    try {
      writeJson(file, value)
    } finally {
      file.close()
    }
  }

  /** The manifest is removed first: without it the file does not exist. */
  async #removeAll(name: string): Promise<void> {
    for (const ending of ['json', 'part', 'bin']) await this.#remove(`${name}.${ending}`)
  }

  async #remove(entry: string): Promise<void> {
    await this.#folder.removeEntry(entry).catch(() => undefined)
  }
}

/** A file that is made from another is made anew, not continued. */
const isUnfinishedCopy = ({ url, isComplete, isMissing }: KnownFile): boolean =>
  !isComplete && !isMissing && madeFrom(url) !== undefined

const lockOf = (name: string): string => `store-${name}`

const pick = ({ url, used, turn, knowsMissing = false }: Manifest) => ({ url, used, turn, knowsMissing })
