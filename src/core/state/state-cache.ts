// The state of all sequences: keys and values in blocks, recurrent state in slabs. Equal parts are shared.

import { ABI } from '../abi/constants.ts'
import { roundUp } from '../abi/encodings.ts'
import { HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { type Arena, offset, type Ptr } from '../runtime/memory/arena.ts'
import type { PartCheck } from '../runtime/part-check.ts'
import { type BlockMirror, BlockPool, type MovePositions } from './block-pool.ts'
import type { SharedPath } from './shared-path.ts'
import { Checkpoints } from './state-slabs.ts'
import { type Prefix, TokenTree } from './token-tree.ts'

export interface StateCacheOptions {
  readonly arena: Arena
  /** Bytes of one block of 64 positions, per group of keys and values. */
  readonly blockBytes: readonly number[]
  /** Positions that each of these groups attends to. 0: all. Default: all. */
  readonly windows?: readonly number[] | undefined
  /** Bytes of a sequence's state, per recurrent group. Default: there are no recurrent groups. */
  readonly slabBytes?: readonly number[] | undefined
  /** Maximum number of positions of a sequence. */
  readonly contextLength: number
  /** Moves stored positions. Default: they cannot be moved. */
  readonly move?: MovePositions | undefined
  /**
   * True if positions do not determine the rotation of keys, so that `shift` never moves them. Default:
   * false.
   */
  readonly isFixed?: boolean | undefined
  /** Is notified of every change to blocks outside of steps and `move`. */
  readonly mirror?: BlockMirror | undefined
  /** Maximum bytes of all state together. Default: as much as memory allows. */
  readonly budgetBytes?: number | undefined
  /** Maximum bytes of blocks that no sequence holds. Default: one full context. */
  readonly retainBytes?: number | undefined
  /** Maximum bytes of checkpoints. Default: 64 MiB. */
  readonly checkpointBytes?: number | undefined
}

/** Approximate bytes of an extent: large enough to be rare, small enough not to waste a phone's memory. */
const EXTENT_BYTES = 4 * 1024 * 1024
const CHECKPOINT_BYTES = 64 * 1024 * 1024

/** Owns the blocks and slabs. Each sequence's part is a `SequenceState`. */
export class StateCache {
  readonly arena: Arena
  readonly contextLength: number
  readonly move: MovePositions | undefined
  readonly isFixed: boolean
  readonly mirror: BlockMirror | undefined
  /** Prepares memory and computes checksums when saved state is read. */
  check: PartCheck | undefined
  /** One per group of keys and values, then one per recurrent group. */
  readonly pools: readonly BlockPool[]
  /** Positions that each group of keys and values attends to. 0: all. */
  readonly windows: readonly number[]
  readonly tree: TokenTree
  readonly checkpoints: Checkpoints
  /** Sequences whose tokens are known, so that others can share their prefix. */
  readonly sharing = new Set<SharedPath>()
  readonly #budgetBytes: number
  readonly #retainBytes: number
  /** Table regions of released sequences; all have the same size. */
  readonly #spareTables: Ptr[] = []

  constructor(options: StateCacheOptions) {
    const { arena, blockBytes, slabBytes = [], contextLength } = options
    this.arena = arena
    this.contextLength = contextLength
    this.move = options.move
    this.isFixed = options.isFixed === true
    this.mirror = options.mirror
    this.windows = blockBytes.map((_, group) => options.windows?.[group] ?? 0)
    this.pools = [...blockBytes, ...slabBytes].map(
      (bytes, group) => new BlockPool(arena, roundUp(bytes, 64), group, options.mirror),
    )
    const blocks = this.pools.slice(0, this.windows.length)
    this.checkpoints = new Checkpoints(
      this.pools.slice(this.windows.length),
      options.checkpointBytes ?? CHECKPOINT_BYTES,
    )
    this.tree = new TokenTree({
      pools: blocks,
      windows: this.windows,
      checkpoints: this.checkpoints,
      isRecurrent: slabBytes.length > 0,
    })
    this.#budgetBytes = options.budgetBytes ?? Number.POSITIVE_INFINITY
    this.#retainBytes =
      options.retainBytes ?? blocks.reduce((sum, pool) => sum + this.tableWords * pool.blockBytes, 0)
  }

  /** Bytes of the blocks and slabs that sequences use or that are retained for later ones. */
  get liveBytes(): number {
    return this.pools.reduce((sum, pool) => sum + pool.live * pool.blockBytes, 0)
  }

  /**
   * Bytes of blocks and slabs that no sequence holds, retained for a sequence with the same prefix.
   */
  get retainedBytes(): number {
    const { tree, checkpoints } = this
    return tree.retainedBytes + checkpoints.bytesOnlyIn(tree.nodes.flatMap((node) => node.checkpoints))
  }

  /** Bytes of the blocks and slabs that sequences hold. */
  get heldBytes(): number {
    return this.liveBytes - this.retainedBytes
  }

  /** Bytes of all extents. */
  get capacityBytes(): number {
    return this.pools.reduce((sum, pool) => sum + pool.capacityBytes, 0)
  }

  /** Bytes of a block or slab in a snapshot, per pool. */
  get savedBytes(): readonly number[] {
    return this.mirror?.wholeBytes ?? this.pools.map(({ blockBytes }) => blockBytes)
  }

  /** Words of one group's block table. */
  get tableWords(): number {
    return Math.ceil(this.contextLength / ABI.BLOCK_POSITIONS)
  }

  /** Allocates one sequence's block tables, one group after the other. */
  takeTables(): Ptr {
    const bytes = this.windows.length * this.tableWords * 4
    return this.#spareTables.pop() ?? this.arena.allocate(bytes, 'the block tables')
  }

  giveTables(tables: Ptr | undefined): void {
    if (tables !== undefined) this.#spareTables.push(tables)
  }

  /**
   * The longest stored prefix of `ids`, with at most `most` tokens, from any sequence, live or ended. Pass it
   * to `adopt` before any other use of the cache.
   */
  find(ids: ArrayLike<number>, most: number): Prefix | undefined {
    for (const path of this.sharing) path.share()
    return this.tree.match(ids, most, this.sharing)
  }

  /** Evicts the oldest state that no sequence holds, down to the retention limit. */
  shrink(): void {
    this.tree.shrink(this.#retainBytes)
  }

  /** Drops all retained state: shared prefixes and checkpoints. Returns false if there is none. */
  clear(): boolean {
    const isEmpty = this.tree.root.children.length === 0 && this.checkpoints.count === 0
    this.tree.clear()
    while (this.checkpoints.evict());
    return !isEmpty
  }

  /**
   * Ensures that `needs[group]` blocks can be taken from each pool: grows the pools or, failing that, evicts
   * state that no sequence holds. Throws `out-of-memory` if that is not enough; no sequence has then lost or
   * changed a block.
   */
  ensure(needs: readonly number[]): void {
    for (;;) {
      const missing = this.pools.map((pool, group) => Math.max(0, (needs[group] ?? 0) - pool.available))
      if (missing.every((blocks) => blocks === 0)) return
      const refusal = this.#tryGrow(missing)
      if (refusal === undefined) return
      if (!this.#evict(missing)) throw refusal
    }
  }

  /**
   * First evicts the state that is least likely to be needed again: old checkpoints to free slabs, and old
   * branches to free blocks.
   */
  #evict(missing: readonly number[]): boolean {
    const lacksSlabs = missing.some((blocks, group) => group >= this.windows.length && blocks > 0)
    return (lacksSlabs && this.checkpoints.evict()) || this.tree.evict() || this.checkpoints.evict()
  }

  /** Returns undefined if the pools have grown, and the error otherwise. */
  #tryGrow(missing: readonly number[]): HalfbyteError | undefined {
    const least = this.#bytesOf(missing)
    const left = this.#budgetBytes - this.capacityBytes
    if (least > left) return overBudget(this.capacityBytes + least, this.#budgetBytes)
    const round = this.#bytesOf(missing.map((blocks) => Math.min(blocks, 1)))
    const rounds = Math.floor(Math.min(Math.max(least, EXTENT_BYTES), left) / round)
    const generous = missing.map((blocks) => (blocks === 0 ? 0 : Math.max(blocks, rounds)))
    if (this.#bytesOf(generous) <= left && this.#grow(generous) === undefined) return undefined
    return this.#grow(missing)
  }

  /**
   * Allocates one region for all groups, so that either all of them grow or none does. Returns the error, if
   * any.
   */
  #grow(blocks: readonly number[]): HalfbyteError | undefined {
    let extent: Ptr
    try {
      extent = this.arena.allocate(this.#bytesOf(blocks), 'the state cache')
    } catch (error) {
      if (isHalfbyteError(error) && error.code === 'out-of-memory') return error
      throw error
    }
    for (const [group, pool] of this.pools.entries()) {
      const count = blocks[group] ?? 0
      pool.add(extent, count)
      extent = offset(extent, count * pool.blockBytes)
    }
    return undefined
  }

  #bytesOf(blocks: readonly number[]): number {
    return this.pools.reduce((sum, pool, group) => sum + (blocks[group] ?? 0) * pool.blockBytes, 0)
  }
}

const overBudget = (neededBytes: number, grantedBytes: number): HalfbyteError =>
  new HalfbyteError(
    'out-of-memory',
    `the state of the conversations needs ${neededBytes} bytes but only ${grantedBytes} are allowed; ` +
      'dispose of sessions that have ended, shorten the context or raise stateBytes',
    { neededBytes, grantedBytes },
  )
