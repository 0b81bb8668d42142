// Moves. In: nothing. Out: how stored positions are named, and what moves them from one place to another.
import type { Ptr } from '../runtime/arena.ts'

/** A run of positions: where its block table lies, u32 per 64 positions, and its first position. */
export interface TablePosition {
  readonly table: Ptr
  readonly position: number
}

/**
 * Moves `count` positions of one group, in all its layers: keys as if they had been computed at the new position, values
 * as they are. Positions move down, or to the same position in other blocks; blocks of `to` have one holder, those of
 * `from` are only read where they are not blocks of `to` too.
 */
export type MovePositions = (group: number, from: TablePosition, to: TablePosition, count: number) => void
