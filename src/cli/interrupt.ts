// Ctrl-C. In: work that honours a signal. Out: its result; the first Ctrl-C aborts the signal, the second ends the process.

export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  // A listener that runs once: then Node's own behaviour is back, for work that takes too long to stop.
  const interrupt = () => controller.abort()
  process.once('SIGINT', interrupt)
  try {
    return await work(controller.signal)
  } finally {
    process.off('SIGINT', interrupt)
  }
}
