// Load marks let the next visit detect loads that were killed together with their page.
//
// A page that takes too much memory is killed and cannot report it. So each load writes a mark to
// localStorage, which takes effect at once. The load erases it when it ends, successfully or not, and the
// page erases it when it is closed or left normally. A Web Lock distinguishes a load that is still running in
// another tab from one that was killed.

import type { HalfbyteError } from '../../base/errors.ts'
import { randomId } from '../../base/values.ts'
import { fileName, isFileOf } from '../address.ts'
import type { Device } from './device.ts'
import { ModelStore, type StoredFile } from './model-store.ts'
import type { LostBytes } from './part-file.ts'

/** Records that all stored files of `address` match the hashes in them. Never rejects. */
export async function trust(address: string, device?: Device): Promise<void> {
  try {
    const store = await ModelStore.open(device)
    const isOfModel = isFileOf(address)
    for (const { url, isComplete } of (await store?.list()) ?? []) {
      if (isComplete && isOfModel(url)) await store?.noteChecked(url)
    }
  } catch {
    // If this fails, the next load compares the files again.
  }
}

/** The errors that a damaged or replaced file may cause. */
const SUSPICIOUS: ReadonlySet<string> = new Set(['integrity', 'format', 'architecture'])

/**
 * Invalid data must not be read from storage again and again: inconsistent files are compared with the
 * server, and data that does not match its hash is downloaded again. Errors that are not about the data have
 * no effect. Never rejects.
 */
export async function distrust(
  address: string,
  { code, detail }: HalfbyteError,
  device?: Device,
): Promise<void> {
  // By now the server may have a file that this release can read.
  const isUnread = code === 'unsupported' && detail['file'] !== undefined
  if (!SUSPICIOUS.has(code) && !isUnread) return
  try {
    const store = await ModelStore.open(device)
    const isOfModel = isFileOf(address)
    const files = ((await store?.list()) ?? []).filter(({ url, isComplete }) => isComplete && isOfModel(url))
    const named = files.filter(({ url }) => fileName(url) === detail['file'])
    const { start = 0, end = Number.POSITIVE_INFINITY } = detail as Partial<LostBytes>
    // Offsets count through all parts of a pack.
    let at = 0
    for (const { url, size } of named.length > 0 ? named : files.sort(byUrl)) {
      await store?.doubt(url, code === 'integrity' ? { start: start - at, end: end - at } : undefined)
      at += size
    }
  } catch {
    // Report the error that led here.
  }
}

const byUrl = (a: StoredFile, b: StoredFile): number => (a.url < b.url ? -1 : 1)

/** A mark, and the key under which it is stored. */
interface LoadMark<T> {
  readonly key: string
  readonly note: T
}

interface OpenMark<T> {
  /** Adds information about the load to the mark. */
  update(note: T): void
  /** Erases the mark. */
  end(): void
}

const PREFIX = 'halfbyte-load-'
/** Maximum number of marks; older ones are dropped. */
const MAX_MARKS = 8

/**
 * Records that a load begins. Writes no mark if storage is denied, or if there are no locks (a page over
 * plain HTTP), because then a load in another tab would look like a killed one.
 */
export async function beginMark<T>(note: T): Promise<OpenMark<T>> {
  const key = PREFIX + randomId()
  const release = await holdLock(key)
  let isOpen = release !== undefined
  const write = (value: T | undefined): void => {
    if (isOpen) store(key, value)
  }
  // A page that enters the back-forward cache, or is closed, has not been killed.
  const leave = () => write(undefined)
  globalThis.addEventListener?.('pagehide', leave)
  write(note)
  return {
    update: write,
    end() {
      write(undefined)
      isOpen = false
      globalThis.removeEventListener?.('pagehide', leave)
      release?.()
    },
  }
}

/** Marks of loads that no longer run. Erases invalid entries, which something else must have written. */
export async function deadMarks<T>(isNote: (value: unknown) => value is T): Promise<LoadMark<T>[]> {
  const known = keys()
  if (known.length === 0) return []
  const found: LoadMark<T>[] = []
  const held = await heldLocks()
  for (const key of known) {
    if (held.has(key)) continue
    const note = read(key)
    if (isNote(note)) found.push({ key, note })
    else eraseMark(key)
  }
  const extra = found.splice(0, found.length - MAX_MARKS)
  for (const { key } of extra) eraseMark(key)
  return found
}

export function eraseMark(key: string): void {
  store(key, undefined)
}

function keys(): string[] {
  try {
    return Object.keys(globalThis.localStorage ?? {}).filter((key) => key.startsWith(PREFIX))
  } catch {
    return []
  }
}

function read(key: string): unknown {
  try {
    return JSON.parse(globalThis.localStorage.getItem(key) ?? '')
  } catch {
    return undefined
  }
}

function store(key: string, value: unknown): void {
  try {
    if (value === undefined) globalThis.localStorage?.removeItem(key)
    else globalThis.localStorage?.setItem(key, JSON.stringify(value))
  } catch {
    // This can fail in a private window or on a full disk. Then the next visit learns nothing of the load.
  }
}

/** Holds a lock until the returned function is called. Undefined if there are no Web Locks. */
function holdLock(name: string): Promise<(() => void) | undefined> {
  return new Promise((resolve) => {
    const none = () => resolve(undefined)
    const held = () => new Promise<void>((release) => resolve(release))
    const locks = globalThis.navigator?.locks
    if (locks === undefined) none()
    else locks.request(name, held).catch(none)
  })
}

async function heldLocks(): Promise<Set<string>> {
  try {
    const { held = [] } = await globalThis.navigator.locks.query()
    return new Set(held.map(({ name }) => name ?? ''))
  } catch {
    return new Set()
  }
}
