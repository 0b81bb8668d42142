// Units. In: bytes and milliseconds. Out: their text for people.

export function bytes(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(2)} GB`
  return `${(count / 1e6).toFixed(count < 1e8 ? 1 : 0)} MB`
}

export function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Per second, with as many digits as are significant. */
export function speed(rate: number): string {
  return rate.toFixed(rate < 100 ? 1 : 0)
}

/** e.g. `2.4 million` */
export function parameters(count: number): string {
  return count >= 1e9 ? `${(count / 1e9).toFixed(1)} billion` : `${(count / 1e6).toFixed(1)} million`
}
