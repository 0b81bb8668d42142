// Sequence state. In: a state cache. Out: one sequence's block tables: reserved, advanced, trimmed, forked, released.
import { HalfbyteError } from '../base/errors.ts'
import { ABI } from '../runtime/abi.ts'
import { offset, type Ptr } from '../runtime/arena.ts'
import type { StateCache } from './state-cache.ts'

const { BLOCK_POSITIONS } = ABI

/**
 * The positions of one sequence that are stored. Blocks may be shared with forks; a block that has two holders is never
 * written: `reserve` first replaces it by a copy.
 */
export class SequenceState {
  readonly #cache: StateCache
  /** Per group, the blocks in order of position; the tables in linear memory hold the same addresses. */
  readonly #blocks: Ptr[][]
  readonly #tables: Ptr
  /** Reused by each `reserve`. */
  readonly #needs: number[]
  #length = 0
  #released = false

  /** Empty. Throws `out-of-memory` when its block tables do not fit. */
  constructor(cache: StateCache) {
    this.#cache = cache
    this.#blocks = cache.pools.map(() => [])
    this.#needs = cache.pools.map(() => 0)
    this.#tables = cache.takeTables()
  }

  /** Positions stored: the next token's position. */
  get length(): number {
    return this.#length
  }

  /** Blocks this sequence holds, shared ones included. */
  get blockCount(): number {
    return this.#blocks.reduce((sum, blocks) => sum + blocks.length, 0)
  }

  /** Where the block addresses of a group lie: u32 per 64 positions. Does not move while the sequence lives. */
  table(group: number): Ptr {
    return offset(this.#tables, group * this.#cache.tableWords * 4)
  }

  /**
   * Makes the next `rows` positions writable.
   * Throws `context-overflow` beyond the context length and `out-of-memory`; the sequence is then what it was.
   */
  // hot
  reserve(rows: number): void {
    this.#checkLive()
    const end = this.#length + rows
    if (end > this.#cache.contextLength) throw overflow(end, this.#cache.contextLength)
    const first = Math.floor(this.#length / BLOCK_POSITIONS)
    const count = Math.ceil(end / BLOCK_POSITIONS)
    let wanted = 0
    for (let group = 0; group < this.#blocks.length; group++) {
      const need = this.#missing(group, first, count)
      this.#needs[group] = need
      wanted += need
    }
    if (wanted === 0) return
    this.#cache.ensure(this.#needs)
    for (let group = 0; group < this.#blocks.length; group++) this.#fill(group, first, count)
  }

  /** Counts `rows` reserved positions as stored. */
  advance(rows: number): void {
    const end = this.#length + rows
    for (let group = 0; group < this.#blocks.length; group++) {
      if (this.#blocks[group]!.length * BLOCK_POSITIONS >= end) continue
      throw new HalfbyteError('internal', `${rows} positions after ${this.#length} were not reserved`)
    }
    this.#length = end
  }

  /** Forgets the positions from `position` on and gives their blocks back. */
  trim(position: number): void {
    this.#checkLive()
    if (position < 0 || position > this.#length) {
      throw new HalfbyteError('internal', `cannot keep ${position} of ${this.#length} positions`)
    }
    this.#length = position
    const keep = Math.ceil(position / BLOCK_POSITIONS)
    for (const [group, pool] of this.#cache.pools.entries()) {
      for (const block of this.#blocks[group]?.splice(keep) ?? []) pool.drop(block)
    }
  }

  /** A second sequence with the same positions; blocks are shared until one of the two writes. */
  fork(): SequenceState {
    this.#checkLive()
    const copy = new SequenceState(this.#cache)
    const keep = Math.ceil(this.#length / BLOCK_POSITIONS)
    for (const [group, pool] of this.#cache.pools.entries()) {
      for (const [index, block] of (this.#blocks[group] ?? []).slice(0, keep).entries()) {
        pool.share(block)
        copy.#place(group, index, block)
      }
    }
    copy.#length = this.#length
    return copy
  }

  /** Gives everything back; the state cannot be used afterwards. Doing it twice is harmless. */
  release(): void {
    if (this.#released) return
    this.trim(0)
    this.#released = true
    this.#cache.giveTables(this.#tables)
  }

  /** Blocks [first, count) that must be taken: those not there, and those that somebody else reads too. */
  #missing(group: number, first: number, count: number): number {
    const blocks = this.#blocks[group]!
    const pool = this.#cache.pools[group]!
    let missing = 0
    for (let index = first; index < count; index++) {
      const block = blocks[index]
      if (block === undefined || pool.references(block) > 1) missing++
    }
    return missing
  }

  #fill(group: number, first: number, count: number): void {
    const blocks = this.#blocks[group]!
    const pool = this.#cache.pools[group]!
    for (let index = first; index < count; index++) {
      const shared = blocks[index]
      if (shared === undefined) {
        this.#place(group, index, pool.take())
      } else if (pool.references(shared) > 1) {
        const own = pool.take()
        if (index * BLOCK_POSITIONS < this.#length) pool.copy(shared, own)
        pool.drop(shared)
        this.#place(group, index, own)
      }
    }
  }

  #place(group: number, index: number, block: Ptr): void {
    this.#blocks[group]![index] = block
    this.#cache.arena.u32[this.table(group) / 4 + index] = block
  }

  #checkLive(): void {
    if (this.#released) throw new HalfbyteError('disposed', 'this sequence was released; create another')
  }
}

/** What does not fit, with both numbers. */
export const overflow = (needed: number, contextLength: number): HalfbyteError =>
  new HalfbyteError(
    'context-overflow',
    `the text needs ${needed} tokens but the context holds ${contextLength}; raise contextLength or shorten it`,
    { needed, contextLength },
  )
