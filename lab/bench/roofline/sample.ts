// Measures how long one call of some work takes, as samples that are each long enough for the clock.

export interface Sampling {
  /** Samples of each measurement. */
  readonly samples: number
  /** Least length of a sample. Browsers round their clocks to 5 us in isolated pages and 100 us in others. */
  readonly leastMs: number
}

/** Calls that make a sample of `leastMs`; `work` runs a few times and is then warm. */
export function callsFor(work: () => void, { leastMs }: Sampling, now: () => number): number {
  for (let calls = 1; ; ) {
    const ms = timeOf(work, calls, now) * calls
    if (ms >= leastMs) return calls
    calls = Math.ceil(calls * Math.min(16, Math.max(1.5, (1.2 * leastMs) / Math.max(ms, 1e-3))))
  }
}

/** Milliseconds per call. */
export function timeOf(work: () => void, calls: number, now: () => number): number {
  const start = now()
  for (let i = 0; i < calls; i++) work()
  return (now() - start) / calls
}
