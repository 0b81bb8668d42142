// State cache. In: an arena, bytes per block of each state group, limits. Out: the layer memory of all sequences.
import { HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { ABI } from '../runtime/abi.ts'
import { type Arena, offset, type Ptr } from '../runtime/arena.ts'
import { refused } from '../runtime/memory.ts'
import { roundUp } from '../weights/encoding.ts'
import { BlockPool } from './block-pool.ts'

export interface StateCacheOptions {
  readonly arena: Arena
  /** Bytes of one block of 64 positions, per state group of the plan. */
  readonly blockBytes: readonly number[]
  /** Most positions of a sequence. */
  readonly contextLength: number
  /** Most bytes of all blocks together; default: what the memory grants. */
  readonly budgetBytes?: number
}

/** Extents of about this many bytes: few enough to be rare, small enough not to waste a phone's memory. */
const EXTENT_BYTES = 4 * 1024 * 1024

/** Owns the blocks; each sequence's part is a `SequenceState`. */
export class StateCache {
  readonly arena: Arena
  readonly contextLength: number
  readonly pools: readonly BlockPool[]
  readonly #budgetBytes: number
  /** Table regions of released sequences; all have the same size. */
  readonly #spareTables: Ptr[] = []

  constructor(options: StateCacheOptions) {
    this.arena = options.arena
    this.contextLength = options.contextLength
    this.pools = options.blockBytes.map((bytes) => new BlockPool(options.arena, roundUp(bytes, 64)))
    this.#budgetBytes = options.budgetBytes ?? Number.POSITIVE_INFINITY
    if (this.pools.length <= ABI.MAX_STATE_GROUPS) return
    throw new HalfbyteError(
      'architecture',
      `the model has ${this.pools.length} kinds of state but the engine holds ${ABI.MAX_STATE_GROUPS}; ` +
        'use a model with fewer kinds of attention layers',
    )
  }

  /** Blocks that sequences hold, shared ones counted once. */
  get liveBlocks(): number {
    return this.pools.reduce((sum, pool) => sum + pool.live, 0)
  }

  /** Bytes of the blocks that sequences hold. */
  get liveBytes(): number {
    return this.pools.reduce((sum, pool) => sum + pool.live * pool.blockBytes, 0)
  }

  /** Bytes of all extents. */
  get capacityBytes(): number {
    return this.pools.reduce((sum, pool) => sum + pool.capacityBytes, 0)
  }

  /** Words of one group's block table. */
  get tableWords(): number {
    return Math.ceil(this.contextLength / ABI.BLOCK_POSITIONS)
  }

  /** Room for one sequence's block tables, one after the other by group. */
  takeTables(): Ptr {
    const bytes = this.pools.length * this.tableWords * 4
    return this.#spareTables.pop() ?? this.arena.allocate(bytes, 'the block tables')
  }

  giveTables(tables: Ptr): void {
    this.#spareTables.push(tables)
  }

  /**
   * Makes sure that `needs[group]` blocks can be taken from each group.
   * Throws `out-of-memory` when the budget or the memory ends first; no block has been taken or written then.
   */
  ensure(needs: readonly number[]): void {
    const missing = this.pools.map((pool, group) => Math.max(0, (needs[group] ?? 0) - pool.available))
    if (missing.every((blocks) => blocks === 0)) return
    const least = this.#bytesOf(missing)
    const left = this.#budgetBytes - this.capacityBytes
    if (least > left) throw refused(this.capacityBytes + least, this.#budgetBytes, 'the state cache')
    const round = this.#bytesOf(this.pools.map(() => 1))
    const rounds = Math.floor(Math.min(Math.max(least, EXTENT_BYTES), left) / round)
    const generous = missing.map((blocks) => Math.max(blocks, rounds))
    if (this.#bytesOf(generous) <= left && this.#grow(generous, true)) return
    this.#grow(missing, false)
  }

  /** One region for all groups, so that either all of them grow or none. */
  #grow(blocks: readonly number[], optional: boolean): boolean {
    let extent: Ptr
    try {
      extent = this.arena.allocate(this.#bytesOf(blocks), 'the state cache')
    } catch (error) {
      if (optional && isHalfbyteError(error) && error.code === 'out-of-memory') return false
      throw error
    }
    for (const [group, pool] of this.pools.entries()) {
      const count = blocks[group] ?? 0
      pool.add(extent, count)
      extent = offset(extent, count * pool.blockBytes)
    }
    return true
  }

  #bytesOf(blocks: readonly number[]): number {
    return this.pools.reduce((sum, pool, group) => sum + (blocks[group] ?? 0) * pool.blockBytes, 0)
  }
}
