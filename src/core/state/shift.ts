// Drops positions of a sequence and moves the later ones down, rotating their keys to match.

import { ABI } from '../abi/constants.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Ptr } from '../runtime/memory/arena.ts'
import type { BlockTable } from './block-table.ts'
import type { StateCache } from './state-cache.ts'

const { BLOCK_POSITIONS } = ABI

/** Positions [keep, keep + drop) of `length` are dropped. */
export interface Drop {
  readonly keep: number
  readonly drop: number
  readonly length: number
}

/**
 * False if a window would include kept positions whose state it has already dropped, or if positions do not
 * determine the rotation of keys. In both cases the state of the later positions must be recomputed.
 */
export function canShift(
  cache: StateCache,
  tables: readonly BlockTable[],
  { keep, drop, length }: Drop,
): boolean {
  if (cache.isFixed) return false
  return tables.every(
    ({ validFrom }, group) => validFrom === 0 || length - drop - (cache.windows[group] ?? 0) + 1 >= keep,
  )
}

/** Number of blocks that `shiftTable` needs. */
export function shiftNeed(table: BlockTable, { keep, drop, length }: Drop): number {
  return table.missing(Math.floor(keep / BLOCK_POSITIONS), blocksOf(length - drop))
}

/**
 * Moves the stored positions of one group that follow the dropped ones. The blocks that it needs must be
 * available.
 */
export function shiftTable(
  cache: StateCache,
  group: number,
  table: BlockTable,
  { keep, drop, length }: Drop,
): void {
  const { move, arena } = cache
  if (move === undefined) {
    throw new HalfbyteError('unsupported', 'this model cannot shift its context; use overflow: "error"')
  }
  const from = Math.max(keep + drop, table.validFrom)
  const to = from - drop
  const first = Math.floor(to / BLOCK_POSITIONS)
  const end = blocksOf(length - drop)
  const held: Ptr[] = []
  const source = cache.takeTables()
  try {
    for (let index = 0; index < table.end; index++) arena.u32[source / 4 + index] = table.at(index) ?? 0
    // Only the first block contains positions that stay.
    table.fill(first, end, to % BLOCK_POSITIONS === 0 ? first : first + 1, held)
    if (length > from) {
      move(group, { table: source, position: from }, { table: table.address, position: to }, length - from)
    }
  } finally {
    for (const block of held) table.pool.drop(block)
    cache.giveTables(source)
  }
  table.reachBack(to)
  table.trim(end)
}

/** Copies positions [start, end) of one block into a fresh block whose other positions are zero. */
export function tidyBlock(
  cache: StateCache,
  group: number,
  table: BlockTable,
  start: number,
  end: number,
): void {
  const { move, arena } = cache
  const index = start / BLOCK_POSITIONS
  const old = table.at(index)
  if (move === undefined || old === undefined) return
  const source = cache.takeTables()
  const fresh = table.pool.take()
  try {
    table.pool.clear(fresh)
    table.pool.share(old)
    arena.u32[source / 4 + index] = old
    table.share(index, fresh)
    table.pool.drop(fresh)
    move(group, { table: source, position: start }, { table: table.address, position: start }, end - start)
  } finally {
    table.pool.drop(old)
    cache.giveTables(source)
  }
}

const blocksOf = (positions: number): number => Math.ceil(positions / BLOCK_POSITIONS)
