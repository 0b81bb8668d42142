// Loading once. In: what loads an engine. Out: the engine that all calls share; a load that failed is tried again.

/** Calls `load` for the first call, and again for the next one after it failed. */
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
