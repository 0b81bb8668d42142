// The time limit of a run: a signal that also aborts when the time is over.
import { wrongOption } from '../../core/base/check-options.ts'

/** Throws `unsupported` for anything but a number of milliseconds above 0. */
export function checkTimeLimit(value: unknown): asserts value is number | undefined {
  if (value !== undefined && !(typeof value === 'number' && value > 0))
    throw wrongOption('timeLimitMs', value, 'a number of milliseconds above 0')
}

/** Longer delays of a timer would wrap. */
const MOST_DELAY = 2 ** 31 - 1

/** The result of `work`. Its signal aborts with that of the caller, and with a `TimeoutError` after
 * `limitMs`.
 */
export async function withTimeLimit<Made>(
  signal: AbortSignal | undefined,
  limitMs: number | undefined,
  work: (signal: AbortSignal | undefined) => Promise<Made>,
): Promise<Made> {
  if (limitMs === undefined || limitMs > MOST_DELAY) return work(signal)
  const ended = new AbortController()
  const abort = () => ended.abort(signal?.reason)
  const timer = setTimeout(() => ended.abort(timedOut(limitMs)), limitMs)
  signal?.addEventListener('abort', abort)
  try {
    return await work(ended.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** As of `AbortSignal.timeout`. */
const timedOut = (limitMs: number): DOMException =>
  new DOMException(
    `the run took longer than its limit of ${limitMs} ms; raise timeLimitMs, or give smaller inputs`,
    'TimeoutError',
  )
