// Waits that end early: by an abort signal, or by a time limit.

/** Settles like `work`, or rejects with the signal's reason as soon as it aborts. `work` is not stopped. */
export function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Aborts `controller` when `signal` does, until the returned function is called. */
export function follow(controller: AbortController, signal: AbortSignal | undefined): () => void {
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  return () => signal?.removeEventListener('abort', abort)
}

/** Longer delays would overflow: timers count milliseconds in 32 bits. */
const MAX_DELAY_MS = 2 ** 31 - 1

/**
 * Runs `work` with a signal that aborts when `signal` does, and with a `TimeoutError` after `limitMs`, like
 * that of `AbortSignal.timeout`; `sentence` is its message. Limits above 24 days are ignored.
 */
export async function withTimeLimit<Result>(
  signal: AbortSignal | undefined,
  limitMs: number,
  sentence: string,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ended = new AbortController()
  const unfollow = follow(ended, signal)
  const late = () => ended.abort(new DOMException(sentence, 'TimeoutError'))
  const timer = limitMs > MAX_DELAY_MS ? undefined : setTimeout(late, limitMs)
  try {
    return await work(ended.signal)
  } finally {
    clearTimeout(timer)
    unfollow()
  }
}
