// Keeps small values on the device for the same machine and browser, for a week. Keeps nothing if storage is
// denied.

import { parseJson } from '../../base/json.ts'
import { sha256 } from '../../base/sha256.ts'
import { type EntryFile, type Folder, openSyncFile, writeJson } from './sync-file.ts'

/**
 * Opens a folder. Undefined if there is no such storage or the browser denies it (private windows, pages
 * without TLS).
 */
export async function openFolder(name: string): Promise<Folder | undefined> {
  try {
    const root = await navigator.storage.getDirectory()
    return await root.getDirectoryHandle(name, { create: true })
  } catch {
    return undefined
  }
}

/** A file name of 32 hex digits, derived from any string, such as an address. */
export const fileKey = async (text: string): Promise<string> =>
  (await sha256(new TextEncoder().encode(text))).slice(0, 32)

/** Returns undefined if the file does not exist. */
export async function readFile(folder: Folder, entry: string): Promise<EntryFile | undefined> {
  try {
    return await (await folder.getFileHandle(entry)).getFile()
  } catch {
    return undefined
  }
}

/** The unvalidated fields of a JSON file. A missing, incomplete or invalid file has no fields. */
export async function readFields(folder: Folder, entry: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return Object(parseJson((await (await readFile(folder, entry))?.text()) ?? ''))
  } catch {
    return {}
  }
}

/**
 * `shared` work waits only for other kinds; `unused` work is done only if nobody else holds the lock, and
 * otherwise returns undefined. Without Web Locks, a single tab is assumed. Rejects with the signal's reason
 * if it aborts during the wait.
 */
export async function alone<T>(
  name: string,
  work: () => Promise<T>,
  how: 'exclusive' | 'shared' | 'unused' = 'exclusive',
  signal?: AbortSignal,
): Promise<T> {
  const { locks } = navigator
  if (locks === undefined) return work()
  const mode = how === 'shared' ? how : 'exclusive'
  // A signal and `ifAvailable` exclude each other.
  const options = how === 'unused' ? { mode, ifAvailable: true } : { mode, ...(signal && { signal }) }
  return locks.request(`halfbyte-${name}`, options as LockOptions, (lock) =>
    lock === null ? (undefined as T) : work(),
  )
}

/** Small values measured on this device and stored for the next load. */
export interface Notes {
  /**
   * Undefined if nothing is stored. Otherwise the stored value, which another script of the origin may have
   * written.
   */
  read(key: string): Promise<unknown>
  /** Replaces the value. Resolves even if it cannot be stored. */
  write(key: string, value: unknown): Promise<void>
}

const FOLDER = 'halfbyte-notes'
/** Values expire because one that was measured while the machine was slow must not last forever. */
const MAX_AGE_MS = 7 * 24 * 3600 * 1000

/**
 * `machine` describes the machine that a value depends on. Notes from another machine are ignored. Writing
 * works only in workers.
 */
export function deviceNotes(machine: string): Notes {
  return {
    async read(key) {
      const folder = await openFolder(FOLDER)
      const note = folder && (await readFields(folder, await fileKey(key)))
      const made = note?.['made']
      const age = typeof made === 'number' ? Date.now() - made : -1
      return note?.['machine'] === machine && age >= 0 && age < MAX_AGE_MS ? note['value'] : undefined
    },
    async write(key, value) {
      try {
        const folder = await openFolder(FOLDER)
        const file = folder && (await openSyncFile(folder, await fileKey(key)))
        if (file === undefined) return
        try {
          writeJson(file, { machine, made: Date.now(), value })
        } finally {
          file.close()
        }
      } catch {
        // If the disk is full, the next load measures again.
      }
    },
  }
}
