// Places buffers in one arena: buffers that are needed at the same time share no bytes. Used for models'
// plans and networks' programs.
import { roundUp } from '../../abi/encodings.ts'

/** A buffer and the steps during which it is needed. */
export interface Lifetime {
  readonly bytes: number
  /** First and last step. */
  readonly from: number
  readonly to: number
}

interface ArenaPlan<Buffer extends Lifetime> {
  /** Bytes from the beginning of the arena. */
  readonly offsets: ReadonlyMap<Buffer, number>
  /** Bytes of the whole arena. */
  readonly bytes: number
}

/** A cache line: no two buffers share one. */
export const ARENA_ALIGNMENT = 64
export const arenaAligned = (bytes: number): number => roundUp(bytes, ARENA_ALIGNMENT)

/**
 * Places the largest buffer first; among equals, the earliest. Each is placed in the first gap between the
 * placed buffers that are needed at the same time. `onPlace` is called before each buffer with the number of
 * placed buffers, which determines the work; it may throw.
 */
export function planArena<Buffer extends Lifetime>(
  buffers: readonly Buffer[],
  onPlace?: (placed: number) => void,
): ArenaPlan<Buffer> {
  const offsets = new Map<Buffer, number>()
  const placed: Placed[] = []
  let most = 0
  for (const buffer of buffers.toSorted((a, b) => b.bytes - a.bytes || a.from - b.from)) {
    onPlace?.(placed.length)
    const { bytes, from, to } = buffer
    const start = firstGap(placed, buffer)
    offsets.set(buffer, start)
    placed.push({ bytes, from, to, start })
    most = Math.max(most, start + bytes)
  }
  return { offsets, bytes: arenaAligned(most) }
}

interface Placed extends Lifetime {
  readonly start: number
}

function firstGap(placed: readonly Placed[], { bytes, from, to }: Lifetime): number {
  const rivals: Placed[] = []
  for (const other of placed) if (other.from <= to && from <= other.to) rivals.push(other)
  let start = 0
  for (const rival of rivals.sort((a, b) => a.start - b.start)) {
    if (rival.start - start >= bytes) break
    start = Math.max(start, arenaAligned(rival.start + rival.bytes))
  }
  return start
}
