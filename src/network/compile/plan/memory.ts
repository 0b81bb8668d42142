// The memory plan: places of values in one arena, which values share that are not needed at the same time.
import type { Budget } from '../../../core/base/budget.ts'

/** A buffer and the steps during which it is needed. */
export interface Interval {
  readonly bytes: number
  /** First and last step. */
  readonly from: number
  readonly to: number
}

export const ALIGNMENT = 64
export const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT

/** Placed values that one unit of work looks at. */
const LOOKED_AT = 8

/** Offsets in the order of the intervals, and the bytes of the whole arena. The largest are placed first. */
export function planMemory(
  intervals: readonly Interval[],
  budget: Pick<Budget, 'spend'>,
): {
  readonly offsets: readonly number[]
  readonly bytes: number
} {
  const order = intervals.map((_, index) => index).sort((a, b) => intervals[b]!.bytes - intervals[a]!.bytes)
  const offsets: number[] = intervals.map(() => 0)
  const placed: number[] = []
  let most = 0
  for (const index of order) {
    const { bytes, from, to } = intervals[index]!
    budget.spend(placed.length / LOOKED_AT)
    const others = placed
      .filter((other) => intervals[other]!.from <= to && from <= intervals[other]!.to)
      .sort((a, b) => offsets[a]! - offsets[b]!)
    let offset = 0
    for (const other of others) {
      if (offsets[other]! - offset >= bytes) break
      offset = Math.max(offset, offsets[other]! + aligned(intervals[other]!.bytes))
    }
    offsets[index] = offset
    placed.push(index)
    most = Math.max(most, offset + aligned(bytes))
  }
  return { offsets, bytes: most }
}
