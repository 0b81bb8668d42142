// Retrying. In: work that a network may break. Out: its result, after waits that grow, or the error that no wait mends.
import { HalfbyteError } from '../../base/errors.ts'

export interface RetryOptions {
  readonly signal?: AbortSignal | undefined
  /** Tries in a row without a single new byte before it is given up; default 6. */
  readonly attempts?: number | undefined
  /** First wait in milliseconds; each next one is twice as long, up to 30 s. Default 500. */
  readonly firstWaitMs?: number | undefined
}

/** Answers that may be different soon: too many requests, and a server that is overloaded or restarting. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504])
const LONGEST_WAIT_MS = 30_000
/** How long an address is tried that has never answered. Pages are not told why: it may be wrong, and no wait mends that. */
const UNANSWERED_MS = 1800

/**
 * Runs `work` until it succeeds. It is told to note new bytes by calling `progressed`, which makes the waits short again.
 * Throws what `work` threw at last, an error that waiting does not mend at once, or the signal's reason. `isFirst`: nothing has come
 * from there yet, so without any answer it is given up within 2 s.
 */
export async function retrying<T>(
  work: (progressed: () => void) => Promise<T>,
  { signal, attempts = 6, firstWaitMs = 500 }: RetryOptions = {},
  isFirst = false,
): Promise<T> {
  const begun = performance.now()
  let failures = 0
  const progressed = () => {
    failures = 0
  }
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await work(progressed)
    } catch (error) {
      signal?.throwIfAborted()
      failures++
      if (!isPassing(error) || failures >= attempts) throw error
      const growing = Math.min(LONGEST_WAIT_MS, firstWaitMs * 2 ** (failures - 1))
      // Many pages that were cut off together should not all come back together.
      const ms = askedWaitMs(error) ?? growing * (0.75 + Math.random() / 2)
      if (isFirst && isUnanswered(error) && performance.now() + ms > begun + UNANSWERED_MS) throw error
      await wait(ms, signal)
    }
  }
}

const isUnanswered = (error: unknown): boolean =>
  error instanceof HalfbyteError && !('status' in error.detail || 'loaded' in error.detail)

function isPassing(error: unknown): boolean {
  if (!(error instanceof HalfbyteError) || error.code !== 'network') return false
  const { status } = error.detail
  return status === undefined || PASSING.has(Number(status))
}

/** What the server asked for in `Retry-After`, within reason. */
function askedWaitMs(error: unknown): number | undefined {
  const seconds = error instanceof HalfbyteError ? error.detail['retryAfter'] : undefined
  return typeof seconds === 'number' ? Math.min(LONGEST_WAIT_MS, seconds * 1000) : undefined
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(timer)
      globalThis.removeEventListener?.('online', settle)
      signal?.removeEventListener('abort', abort)
      resolve()
    }
    const abort = () => {
      settle()
      reject(signal?.reason)
    }
    const timer = setTimeout(settle, ms)
    // A device that comes out of a tunnel need not wait any longer.
    globalThis.addEventListener?.('online', settle)
    signal?.addEventListener('abort', abort)
  })
}
