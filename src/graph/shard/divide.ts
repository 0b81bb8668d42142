// Divide. In: a size, the unit it may be cut at, the shares of several shards. Out: each shard's part of it.
import { HalfbyteError } from '../../base/errors.ts'

/** [first, first + count) of a size. */
export interface Range {
  readonly first: number
  readonly count: number
}

/**
 * Cuts `size` at multiples of `unit` into consecutive ranges, one per share, as close to the shares as the
 * unit allows. Each range has at least one unit. Throws `unsupported` when there are fewer units than shares.
 */
export function divide(size: number, unit: number, shares: readonly number[]): Range[] {
  const units = Math.ceil(size / unit)
  if (units < shares.length) {
    throw new HalfbyteError(
      'unsupported',
      `${size} in units of ${unit} cannot be shared by ${shares.length} workers; use at most ${units}`,
      { size, unit, most: units },
    )
  }
  const total = shares.reduce((sum, share) => sum + share, 0)
  const ranges: Range[] = []
  let taken = 0
  let first = 0
  for (const [index, share] of shares.entries()) {
    taken += share
    const behind = shares.length - 1 - index
    const wanted = behind === 0 ? units : Math.round((units * taken) / total)
    const begin = Math.ceil(first / unit)
    const end = Math.min(units - behind, Math.max(begin + 1, wanted))
    const count = Math.min(end * unit, size) - first
    ranges.push({ first, count })
    first += count
  }
  return ranges
}
