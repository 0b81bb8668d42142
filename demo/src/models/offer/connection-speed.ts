// The connection's speed. In: the page's transfers, and the browser's estimate. Out: bytes per second.

/** For transfers below this many bytes, the time is mostly that of the request. */
const LEAST_BYTES = 1e6

/** A finished transfer: its number of bytes, and the times of the first and last byte in milliseconds. */
export type Transfer = Pick<PerformanceResourceTiming, 'transferSize' | 'responseStart' | 'responseEnd'>

/** The browser's estimate, in Mbit/s. Chromium reports at most 10. */
const estimated = (): number | undefined =>
  (navigator as { connection?: { downlink?: number } }).connection?.downlink

const transfers = (): readonly Transfer[] =>
  performance.getEntriesByType('resource') as PerformanceResourceTiming[]

/**
 * Bytes per second of the page's largest download, which is its model; transfers from a cache do not count.
 * Otherwise the browser's estimate; undefined if there is neither.
 */
export function connectionSpeed(
  loads: readonly Transfer[] = transfers(),
  downlink: number | undefined = estimated(),
): number | undefined {
  const [largest] = loads
    .filter(
      ({ transferSize, responseStart, responseEnd }) =>
        transferSize >= LEAST_BYTES && responseEnd > responseStart,
    )
    .toSorted((a, b) => b.transferSize - a.transferSize)
  if (largest !== undefined)
    return (largest.transferSize / (largest.responseEnd - largest.responseStart)) * 1000
  return downlink === undefined || downlink <= 0 ? undefined : (downlink * 1e6) / 8
}
