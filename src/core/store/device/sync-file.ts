// Writes the files of a store in place, in workers and in Node. A full disk causes a typed error.

import { HalfbyteError } from '../../base/errors.ts'

/** The place that stores files: its free space, and its names in error messages. */
export interface Room {
  /** Who has the space, for example `the browser`. */
  readonly name: string
  /** What fails when a write fails, for example `the browser's storage`. */
  readonly storage: string
  /** What a user can do about a model that does not fit. */
  readonly instead: string
  /** Infinity if unknown. */
  freeBytes(): Promise<number>
}

export const BROWSER_ROOM: Room = {
  name: 'the browser',
  storage: "the browser's storage",
  instead: 'remove a stored model or load without storing',
  async freeBytes() {
    // Safari 16 has the file system but no estimate.
    const { quota, usage } = (await navigator.storage.estimate?.()) ?? {}
    return quota === undefined || usage === undefined ? Number.POSITIVE_INFINITY : quota - usage
  },
}

/** The purpose of the space, for error messages. */
export interface Purpose {
  readonly what: string
  /** Default: the room's own advice. */
  readonly instead?: string
}

const MODEL: Purpose = { what: 'the model needs' }

/** Free bytes. Throws `storage-full` if `size` more do not fit. */
export async function checkRoom(size: number, room: Room, purpose = MODEL): Promise<number> {
  const free = await room.freeBytes()
  if (size <= free) return free
  throw full(size, free, room, { purpose })
}

/** The error for a failed write: `storage-full`, or `internal` if lack of space was not the reason. */
export function writeError(size: number, cause: unknown, room: Room, purpose = MODEL): HalfbyteError {
  if (cause instanceof Error && cause.name === 'QuotaExceededError')
    return full(size, undefined, room, { cause, purpose })
  const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  return new HalfbyteError(
    'internal',
    `${room.storage} failed (${why}); load it again or without storing`,
    {},
    { cause },
  )
}

/** `size` is 0 if the server did not report it; `free` is undefined if the room did not report it. */
export function full(
  size: number,
  free: number | undefined,
  { name, instead: advice }: Room,
  { cause, purpose = MODEL }: { readonly cause?: unknown; readonly purpose?: Purpose } = {},
): HalfbyteError {
  const { what, instead = advice } = purpose
  const need = size > 0 ? `${what} ${size} bytes of storage` : `${what} storage`
  const space = free === undefined ? `${name} has no space for it` : `${name} has space for ${free}`
  return new HalfbyteError(
    'storage-full',
    `${need} but ${space}; ${instead}`,
    { size, ...(free !== undefined && { free }) },
    { cause },
  )
}

/** Browsers' `FileSystemSyncAccessHandle`, in workers; at most one is open per file. */
export interface SyncFile {
  /** Number of bytes read; fewer than wanted at the end of the file. */
  read(bytes: Uint8Array, options: { readonly at: number }): number
  /** Number of bytes written. If the disk is full: fewer than given, or a meaningless number. */
  write(bytes: Uint8Array, options: { readonly at: number }): number
  truncate(size: number): void
  getSize(): number
  flush(): void
  close(): void
}

/** A file that is only read, by any number of tabs at once. */
export interface SyncReader {
  /** Number of bytes read; fewer than wanted at the end of the file. */
  read(bytes: Uint8Array, options: { readonly at: number }): number
  getSize(): number
  close(): void
}

/** The part of browsers' `File` that stores use. */
export type EntryFile = Pick<File, 'size' | 'lastModified' | 'text' | 'slice'>

/** Browsers' `FileSystemFileHandle`. */
export interface FolderEntry {
  /** The path, for other threads, where the entry itself cannot be sent to them. */
  readonly path?: string
  getFile(): Promise<EntryFile>
  /** Absent where nothing can be written in place, such as outside of workers. */
  createSyncAccessHandle?(options?: { readonly mode: string }): Promise<SyncFile & { readonly mode?: string }>
}

/** The part of browsers' `FileSystemDirectoryHandle` that stores use. */
export interface Folder {
  keys(): AsyncIterable<string>
  getFileHandle(name: string, options?: { readonly create?: boolean }): Promise<FolderEntry>
  removeEntry(name: string): Promise<void>
  /**
   * Replaces a file in one step, where processes could otherwise write it at the same time. Absent where only
   * one writer can open a file.
   */
  replace?(name: string, text: string): Promise<void>
}

/** Undefined if the browser has no such handles, or only exclusive ones. */
export async function openSyncReader(handle: FolderEntry): Promise<SyncReader | undefined> {
  try {
    const reader = await handle.createSyncAccessHandle?.({ mode: 'read-only' })
    if (reader?.mode === 'read-only') return reader
    reader?.close()
  } catch {
    // This is not a worker, or a tab is writing the file. A File works in both cases.
  }
  return undefined
}

/** A handle stays locked for a moment after its tab closes. */
const LOCKED_TRIES = 20
const LOCKED_WAIT_MS = 100

/**
 * Creates the file if there is none. Undefined if the browser or the page cannot write in place. Throws a
 * DOMException `QuotaExceededError` if there is no room even for an empty file.
 */
export async function openSyncFile(folder: Folder, entry: string): Promise<SyncFile | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      const file = await folder.getFileHandle(entry, { create: true })
      return await file.createSyncAccessHandle?.()
    } catch (error) {
      const { name } = error as Error
      if (name === 'QuotaExceededError') throw error
      if (name !== 'NoModificationAllowedError' || attempt === LOCKED_TRIES) return undefined
    }
    await new Promise((resolve) => setTimeout(resolve, LOCKED_WAIT_MS))
  }
}

/** Writes all of `bytes`. Throws a DOMException `QuotaExceededError` if the disk is full. */
export function writeAll(file: SyncFile, bytes: Uint8Array, at: number): void {
  let written = 0
  while (written < bytes.byteLength) {
    const rest = bytes.subarray(written)
    const taken = file.write(rest, { at: at + written })
    // On a full disk, fewer bytes are written than requested. Chromium's private windows return 2^32 - 8.
    if (!(taken > 0 && taken <= rest.byteLength))
      throw new DOMException('the disk is full', 'QuotaExceededError')
    written += taken
  }
}

/**
 * Replaces the contents with `value` as JSON. Spaces overwrite longer old contents, because the worker may be
 * killed before the file is truncated.
 */
export function writeJson(file: SyncFile, value: unknown): void {
  const text = new TextEncoder().encode(JSON.stringify(value))
  const covering = new Uint8Array(Math.max(text.byteLength, file.getSize())).fill(SPACE)
  covering.set(text)
  writeAll(file, covering, 0)
  file.truncate(text.byteLength)
  file.flush()
}

const SPACE = 0x20
