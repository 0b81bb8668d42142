// Quota. In: how much is to be stored, or why it was not. Out: nothing, or a typed error with both numbers.
import { HalfbyteError } from '../../base/errors.ts'

/** What the room is for, in an error's words. */
export interface Purpose {
  readonly what: string
  readonly instead: string
}

const MODEL: Purpose = { what: 'the model needs', instead: 'remove a stored model or load without storing' }

/** Bytes that are free, as far as the browser says. Throws `storage-full` when `size` more do not fit. */
export async function checkQuota(size: number, purpose = MODEL): Promise<number> {
  // Safari 16 has the file system and no estimate.
  const { quota, usage } = (await navigator.storage.estimate?.()) ?? {}
  const free = quota === undefined || usage === undefined ? Number.POSITIVE_INFINITY : quota - usage
  if (size <= free) return free
  throw full(size, free, undefined, purpose)
}

/** What a failed write becomes: `storage-full`, or `internal` for what is not about room. */
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

/** `size` is 0 when the server did not say, `free` is absent when the browser did not. */
export function full(
  size: number,
  free: number | undefined,
  cause?: unknown,
  { what, instead }: Purpose = MODEL,
): HalfbyteError {
  const need = size > 0 ? `${what} ${size} bytes of storage` : `${what} storage`
  const room = free === undefined ? 'the browser has no room for it' : `the browser has room for ${free}`
  return new HalfbyteError(
    'storage-full',
    `${need} but ${room}; ${instead}`,
    { size, ...(free !== undefined && { free }) },
    { cause },
  )
}
