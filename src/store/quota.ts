// Quota. In: how much is to be stored, or why it was not. Out: nothing, or a typed error with both numbers.
import { HalfbyteError } from '../base/errors.ts'

/** Throws `storage-full` when `size` more bytes do not fit, as far as the browser says. */
export async function checkQuota(size: number): Promise<void> {
  // Safari 16 has the file system and no estimate.
  const { quota, usage } = (await navigator.storage.estimate?.()) ?? {}
  if (quota === undefined || usage === undefined || size <= quota - usage) return
  throw full(size, undefined, quota - usage)
}

/** What a failed write becomes: `storage-full`, or `internal` for what is not about room. */
export function writeError(size: number, cause: unknown): HalfbyteError {
  if (cause instanceof Error && cause.name === 'QuotaExceededError') return full(size, cause)
  const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  return new HalfbyteError(
    'internal',
    `the browser's storage failed (${why}); load it again or without storing`,
    {},
    { cause },
  )
}

/** `size` is 0 when the server did not say, `free` is absent when the browser did not. */
function full(size: number, cause: unknown, free?: number): HalfbyteError {
  const need = size > 0 ? `the model needs ${size} bytes of storage` : 'the model needs storage'
  const room = free === undefined ? 'the browser has no room for it' : `the browser has room for ${free}`
  return new HalfbyteError(
    'storage-full',
    `${need} but ${room}; remove a stored model or load without storing`,
    { size, ...(free !== undefined && { free }) },
    { cause },
  )
}
