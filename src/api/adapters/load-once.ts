// Loading once. In: a function that loads an engine. Out: the engine that all calls share. A failed load is
// tried again.

/** Calls `load` at the first call, and again at the next call after a failure. */
export function loadOnce<Loaded, Args extends readonly unknown[]>(
  load: (...args: Args) => Promise<Loaded>,
): (...args: Args) => Promise<Loaded> {
  let loading: Promise<Loaded> | undefined
  return (...args) => {
    if (loading !== undefined) return loading
    const started = load(...args)
    loading = started
    started.catch(() => {
      loading = undefined
    })
    return started
  }
}
