// Computes the median, minimum and maximum of samples, as numbers and as text.

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** The median of an even number of samples is the mean of the middle two; of none, NaN. */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  const lower = sorted[sorted.length % 2 === 0 ? middle - 1 : middle] ?? Number.NaN
  return { median: (lower + upper) / 2, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

/** Median (min-max). */
export const spreadText = ({ median, min, max }: Spread, digits = 1): string =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}-${max.toFixed(digits)})`
