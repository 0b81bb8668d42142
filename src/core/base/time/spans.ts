// Spans of time in the timeline of the browser's performance panel, and for a PerformanceObserver.

const PREFIX = 'halfbyte: '

/** Ends a span that began at `start`, a reading of `performance.now()`. The timeline alone keeps it. */
export function endSpan(name: string, start: number): void {
  const full = PREFIX + name
  performance.measure(full, { start })
  performance.clearMeasures(full)
}
