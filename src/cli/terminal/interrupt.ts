// Ctrl-C. In: work that honours a signal. Out: its result. The first Ctrl-C aborts the signal; the second
// ends the process.

export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  // The listener runs once. Then Node's default applies, for work that takes too long to stop.
  const interrupt = () => controller.abort()
  process.once('SIGINT', interrupt)
  try {
    return await work(controller.signal)
  } finally {
    process.off('SIGINT', interrupt)
  }
}
