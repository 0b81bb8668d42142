// Makes unreliable clocks usable: time that never goes backwards, rates that are always finite, and dates
// that can be stored.

/**
 * Milliseconds since the first reading. A step backwards, and a reading that is not finite, count as no time;
 * time then advances from there. Never returns a negative time, NaN or Infinity.
 */
export function steadyClock(now: () => number): () => number {
  let last = Number.NaN
  let passed = 0
  return () => {
    const reading = now()
    if (!Number.isFinite(reading)) return passed
    if (reading > last) passed += reading - last
    last = reading
    return passed
  }
}

/** `count` per second; 0 if no time has passed. */
export const perSecond = (count: number, ms: number): number =>
  count > 0 && ms > 0 ? (count * 1000) / ms : 0

/** Milliseconds since 1970, as a whole number that fits into stored records whatever the device's date is. */
export const dateNow = (): number => Math.max(0, Math.trunc(Date.now()) || 0)
