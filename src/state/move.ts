// Moves. In: nothing. Out: the names of stored positions, and the type of the function that moves them.
import type { Ptr } from '../runtime/memory/arena.ts'

/**
 * The start of a run of positions: the address of its block table (u32 per 64 positions) and its first
 * position.
 */
export interface TablePosition {
  readonly table: Ptr
  readonly position: number
}

/**
 * Moves `count` positions of one group, in all its layers: keys as if they had been computed at the new
 * position, values unchanged. Positions move down, or to the same position in other blocks. Blocks of `to`
 * have one holder. Blocks of `from` are only read, unless they are also blocks of `to`.
 */
export type MovePositions = (group: number, from: TablePosition, to: TablePosition, count: number) => void
