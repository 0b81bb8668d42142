// Places buffers in one arena: buffers that are needed at the same time share no bytes. Models' plans and
// networks' programs are placed here.
import { roundUp } from '../../abi/encodings.ts'

/** A buffer and the steps during which it is needed. */
export interface Lifetime {
  readonly bytes: number
  /** First and last step. */
  readonly from: number
  readonly to: number
}

export interface ArenaPlan {
  /** Bytes from the beginning of the arena, in the order of the lifetimes. */
  readonly offsets: readonly number[]
  /** Bytes of the whole arena. */
  readonly bytes: number
}

/** A cache line: no two buffers share one. */
export const ARENA_ALIGNMENT = 64
export const arenaAligned = (bytes: number): number => roundUp(bytes, ARENA_ALIGNMENT)

/**
 * The largest buffer is placed first, and of equal ones the earliest. Each goes into the first gap between
 * those already placed that are needed at the same time. `onPlace` hears before each buffer how many are
 * placed, since that many are looked at; it may throw.
 */
export function planArena(
  lifetimes: readonly Lifetime[],
  onPlace: (placed: number) => void = () => {},
): ArenaPlan {
  const offsets = lifetimes.map(() => 0)
  const placed: number[] = []
  let most = 0
  for (const index of largestFirst(lifetimes)) {
    const { bytes, from, to } = lifetimes[index]!
    onPlace(placed.length)
    const rivals = placed
      .filter((other) => lifetimes[other]!.from <= to && from <= lifetimes[other]!.to)
      .map((other) => ({ start: offsets[other]!, end: offsets[other]! + lifetimes[other]!.bytes }))
      .sort((left, right) => left.start - right.start)
    const offset = firstGap(rivals, bytes)
    offsets[index] = offset
    placed.push(index)
    most = Math.max(most, offset + bytes)
  }
  return { offsets, bytes: arenaAligned(most) }
}

const largestFirst = (lifetimes: readonly Lifetime[]): readonly number[] =>
  lifetimes
    .map((_, index) => index)
    .sort(
      (left, right) =>
        lifetimes[right]!.bytes - lifetimes[left]!.bytes || lifetimes[left]!.from - lifetimes[right]!.from,
    )

/** `taken` by where they start. */
function firstGap(taken: readonly { readonly start: number; readonly end: number }[], bytes: number): number {
  let from = 0
  for (const { start, end } of taken) {
    if (start - from >= bytes) break
    from = Math.max(from, arenaAligned(end))
  }
  return from
}
