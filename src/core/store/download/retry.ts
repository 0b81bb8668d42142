// Repeats work that the network may interrupt, with growing delays, until it succeeds or fails for good.
import { HalfbyteError, reasonOf } from '../../base/errors.ts'
import { steadyClock } from '../../base/time/clocks.ts'

export interface RetryOptions {
  readonly signal?: AbortSignal | undefined
  /** Consecutive attempts without any new byte before giving up; default 6. */
  readonly attempts?: number | undefined
  /** First wait in milliseconds; each later one is twice as long, up to 30 s. Default 500. */
  readonly firstWaitMs?: number | undefined
  /** Called before each wait; the function that it returns is called after the wait. */
  readonly onRetry?: ((retry: Retry) => () => void) | undefined
}

/** A request that broke and is repeated. */
export interface Retry {
  /** The number of the next attempt, counted from the last one that received bytes. The first retry is 2. */
  readonly attempt: number
  /** The last attempt before giving up. */
  readonly attempts: number
  /** Milliseconds until the next attempt. */
  readonly waitMs: number
  /** What failed, in the words of the error. */
  readonly reason: string
}

/** Statuses that may be temporary: too many requests, and a server that is overloaded or restarting. */
export const PASSING = new Set([408, 425, 429, 500, 502, 503, 504])
const LONGEST_WAIT_MS = 30_000
/**
 * How long to try an address that has never answered. A page cannot learn why there is no response; the
 * address may be wrong, and then waiting does not help.
 */
const UNANSWERED_MS = 1800

/**
 * Runs `work` until it succeeds. `work` calls `progressed` when new bytes arrive, which resets the delay.
 * Throws the last error of `work`, or the signal's reason. An error that waiting cannot fix is thrown at
 * once. `isFirst`: the address has not answered yet, so give up if it does not within 2 s.
 */
export async function retrying<T>(
  work: (progressed: () => void) => Promise<T>,
  { signal, attempts = 6, firstWaitMs = 500, onRetry }: RetryOptions = {},
  isFirst = false,
): Promise<T> {
  const now = steadyClock(() => performance.now())
  const begun = now()
  let failures = 0
  /** The requested delay. It counts even if the clock stands still. */
  let waitedMs = 0
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
      // Pages that lost their connections at the same time should not all retry at the same time.
      const ms = askedWaitMs(error) ?? growing * (0.75 + Math.random() / 2)
      const passedMs = Math.max(now() - begun, waitedMs)
      if (isFirst && isUnanswered(error) && passedMs + ms > UNANSWERED_MS) throw error
      waitedMs += ms
      const retry = { attempt: failures + 1, attempts, waitMs: Math.round(ms), reason: reasonOf(error) }
      const waited = onRetry?.(retry)
      await wait(ms, signal)
      waited?.()
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

/** The wait that the server requests in `Retry-After`, up to a limit. */
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
    // Once the device is online again, there is no need to wait.
    globalThis.addEventListener?.('online', settle)
    signal?.addEventListener('abort', abort)
  })
}
