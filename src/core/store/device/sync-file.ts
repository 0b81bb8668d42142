// Writes files in the origin's private file system in place, in workers. A full disk causes a typed error.

import { HalfbyteError } from '../../base/errors.ts'

/** The purpose of the space, for error messages. */
export interface Purpose {
  readonly what: string
  readonly instead: string
}

const MODEL: Purpose = { what: 'the model needs', instead: 'remove a stored model or load without storing' }

/** Free bytes, as reported by the browser. Throws `storage-full` if `size` more do not fit. */
export async function checkQuota(size: number, purpose = MODEL): Promise<number> {
  // Safari 16 has the file system but no estimate.
  const { quota, usage } = (await navigator.storage.estimate?.()) ?? {}
  const free = quota === undefined || usage === undefined ? Number.POSITIVE_INFINITY : quota - usage
  if (size <= free) return free
  throw full(size, free, undefined, purpose)
}

/** The error for a failed write: `storage-full`, or `internal` if lack of space was not the reason. */
export function writeError(size: number, cause: unknown, purpose = MODEL): HalfbyteError {
  if (cause instanceof Error && cause.name === 'QuotaExceededError')
    return full(size, undefined, cause, purpose)
  const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  return new HalfbyteError(
    'internal',
    `the browser's storage failed (${why}); load it again or without storing`,
    {},
    { cause },
  )
}

/** `size` is 0 if the server did not report it; `free` is absent if the browser did not report it. */
export function full(
  size: number,
  free: number | undefined,
  cause?: unknown,
  { what, instead }: Purpose = MODEL,
): HalfbyteError {
  const need = size > 0 ? `${what} ${size} bytes of storage` : `${what} storage`
  const room = free === undefined ? 'the browser has no space for it' : `the browser has space for ${free}`
  return new HalfbyteError(
    'storage-full',
    `${need} but ${room}; ${instead}`,
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

/** Undefined if the browser has no such handles, or only exclusive ones. */
export async function openSyncReader(handle: FileSystemFileHandle): Promise<SyncReader | undefined> {
  try {
    const reader = await (
      handle as unknown as {
        createSyncAccessHandle(options: object): Promise<SyncReader & { readonly mode?: string }>
      }
    ).createSyncAccessHandle({ mode: 'read-only' })
    if (reader.mode === 'read-only') return reader
    reader.close()
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
export async function openSyncFile(
  folder: FileSystemDirectoryHandle,
  entry: string,
): Promise<SyncFile | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      const file = await folder.getFileHandle(entry, { create: true })
      // TypeScript's DOM library omits worker-only methods.
      return await (
        file as unknown as { createSyncAccessHandle(): Promise<SyncFile> }
      ).createSyncAccessHandle()
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
