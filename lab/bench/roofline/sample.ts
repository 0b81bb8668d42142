// Measures how long one call takes, in samples that are each long enough for the clock's resolution.

export interface Sampling {
  /** Samples of each measurement. */
  readonly samples: number
  /**
   * Minimum length of a sample. Browsers round their clocks to 5 us in isolated pages and 100 us in others.
   */
  readonly leastMs: number
}

/** Number of calls for a sample of `leastMs`; also warms up `work`. */
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
