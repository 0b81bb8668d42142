// The blocks and slabs of one sequence: reserves, trims, forks, shares and releases them.

import { ABI } from '../abi/constants.ts'
import { HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { offset, type Ptr } from '../runtime/memory/arena.ts'
import { BlockTable, overflow } from './block-table.ts'
import { type PathSource, SharedPath } from './shared-path.ts'
import { canShift, shiftNeed, shiftTable, tidyBlock } from './shift.ts'
import type { StateCache } from './state-cache.ts'
import { type Checkpoint, StateSlabs } from './state-slabs.ts'
import type { Prefix } from './token-tree.ts'

const { BLOCK_POSITIONS } = ABI

/**
 * The stored positions of one sequence: a table of blocks per group of keys and values, and one slab per
 * recurrent group. Blocks and slabs may be shared. Nobody writes to one with two holders: `reserve` first
 * replaces it with a copy.
 */
export class SequenceState implements PathSource {
  readonly #cache: StateCache
  /** One per group of keys and values. */
  readonly tables: readonly BlockTable[]
  readonly slabs: StateSlabs
  /** Absent if the sequence shares nothing. */
  readonly #path: SharedPath | undefined
  /** Reused by every `reserve`. */
  readonly #needs: number[]
  #length = 0
  #released = false

  /**
   * Starts empty. `tokens`: the tokens at its positions, through which other sequences can find the state.
   * Throws `out-of-memory` if its block tables do not fit.
   */
  constructor(cache: StateCache, tokens?: readonly number[]) {
    this.#cache = cache
    const start = cache.takeTables()
    this.tables = cache.windows.map(
      (_, group) =>
        new BlockTable(cache.arena, cache.pools[group]!, offset(start, group * cache.tableWords * 4)),
    )
    this.slabs = new StateSlabs(cache.pools.slice(cache.windows.length), cache.checkpoints)
    this.#needs = cache.pools.map(() => 0)
    this.#path = tokens && new SharedPath(cache.tree, this, tokens)
    if (this.#path !== undefined) cache.sharing.add(this.#path)
  }

  /** Number of stored positions, which is the next token's position. */
  get length(): number {
    return this.#length
  }

  /**
   * The address of a group's block addresses: u32 per 64 positions. It does not change while the sequence
   * exists. For a recurrent group (these come last): the address of its slab, f32, valid until the next
   * `reserve`.
   */
  table(group: number): Ptr {
    return this.tables[group]?.address ?? this.slabs.at(group - this.tables.length)
  }

  /**
   * Makes the next `rows` positions writable. Until the next `reserve`, `trim` can undo each of them;
   * recurrent state needs a `checkpoint` for that. Throws `context-overflow` beyond the context length, or
   * `out-of-memory`; the sequence is then unchanged.
   */
  // hot
  reserve(rows: number): void {
    this.#checkLive()
    const end = this.#length + rows
    this.#checkFits(end)
    this.#leaveBehind()
    if (!this.#makeRoom(this.#length, end, true)) return
    const first = Math.floor(this.#length / BLOCK_POSITIONS)
    const stored = Math.ceil(this.#length / BLOCK_POSITIONS)
    const last = Math.ceil(end / BLOCK_POSITIONS)
    for (let group = 0; group < this.tables.length; group++) this.tables[group]!.fill(first, last, stored)
    this.slabs.own()
  }

  /**
   * Ensures that positions up to `end` can be reserved if only the first `kept` stored positions are kept.
   * May evict state that no sequence holds. Throws like `reserve`, and then no sequence has changed.
   */
  makeRoom(kept: number, end: number): void {
    this.#checkLive()
    this.#checkFits(end)
    this.#makeRoom(kept, end, false)
  }

  /**
   * Allocates memory for `length` positions; in each group, for those from `from` on. The caller then writes
   * them and calls `advance`. Only for an empty sequence.
   */
  claim(length: number, from: readonly number[]): void {
    this.#checkLive()
    this.#checkFits(length)
    const end = Math.ceil(length / BLOCK_POSITIONS)
    for (const [group, table] of this.tables.entries()) table.startAt(from[group] ?? 0)
    this.#ensureEach((table) => (table === undefined ? 1 : table.missing(table.first, end)))
    for (const table of this.tables) table.fill(table.first, end, 0)
    if (length > 0) this.slabs.own()
  }

  /**
   * If positions can be moved, zeroes the space after the stored positions in the last blocks, which may
   * still contain other conversations' data. Throws `out-of-memory`.
   */
  tidy(): void {
    this.#checkLive()
    const start = this.#length - (this.#length % BLOCK_POSITIONS)
    if (start === this.#length || this.#cache.move === undefined) return
    this.#ensureEach((table) => (table === undefined ? 0 : 1))
    for (const [group, table] of this.tables.entries())
      tidyBlock(this.#cache, group, table, start, this.#length)
  }

  /** Counts `rows` reserved positions as stored. */
  advance(rows: number): void {
    const end = this.#length + rows
    for (let group = 0; group < this.tables.length; group++) {
      if (this.tables[group]!.end * BLOCK_POSITIONS >= end) continue
      throw new HalfbyteError('internal', `${rows} positions after ${this.#length} were not reserved`)
    }
    this.#length = end
    this.slabs.reach(end)
  }

  /**
   * Ascending positions at which to checkpoint recurrent state while a prompt is processed, because a
   * conversation may return to where its messages end. A step must end there: see `untilMark`. Does nothing
   * for models without recurrent layers.
   */
  markAt(positions: readonly number[]): void {
    this.slabs.markAt(positions)
  }

  /** How many of the next `rows` rows a step may process. */
  untilMark(rows: number): number {
    return Math.min(rows, (this.slabs.nextMark(this.#length) ?? Number.POSITIVE_INFINITY) - this.#length)
  }

  /**
   * Saves the current recurrent state as a checkpoint. Does nothing for models without recurrent
   * layers.
   */
  checkpoint(): void {
    this.#checkLive()
    this.slabs.checkpoint(this.#length)
  }

  /**
   * Keeps a copy of the recurrent state until `endTrial`, so that `trim` can undo any rows of the next step.
   * Returns false if there is no memory for the copy; then no speculative rows may be processed. Models
   * without recurrent layers need no copy; the result is then true.
   */
  beginTrial(): boolean {
    this.#checkLive()
    return this.slabs.beginTrial(this.#length)
  }

  endTrial(): void {
    this.slabs.endTrial()
  }

  /** How many positions `trim(position)` would keep. */
  restorable(position: number): number {
    if (position < 0 || position > this.#length) {
      throw new HalfbyteError('internal', `cannot keep ${position} of ${this.#length} positions`)
    }
    const isFree = !this.slabs.areUsed && this.#reaches(position)
    return position === this.#length || isFree ? position : (this.#checkpointBefore(position)?.position ?? 0)
  }

  /**
   * Forgets the positions from `position` on and frees their blocks. Returns how many positions are kept.
   * There may be fewer than `position`: recurrent state can only return to a checkpoint, and a window only as
   * far as its blocks still exist.
   */
  trim(position: number): number {
    this.#checkLive()
    const kept = this.restorable(position)
    if (kept < this.#length || kept === 0) this.slabs.restore(this.#checkpointBefore(kept))
    this.slabs.forget(kept)
    this.#length = kept
    for (const table of this.tables) table.trim(Math.ceil(kept / BLOCK_POSITIONS))
    this.#path?.trim(kept)
    return kept
  }

  /**
   * Drops positions [keep, keep + drop) and moves the later ones down, rotating their keys to match.
   * Attention sinks at the beginning are kept. The result is not what the model would have computed without
   * the dropped positions, so it is not shared. Recurrent state stays unchanged, and its checkpoints after
   * `keep` are forgotten. Returns false, with nothing changed, if a window would include positions whose
   * blocks it has dropped. Throws `out-of-memory`, with nothing changed, and `unsupported` if the state
   * cannot be moved.
   */
  shift(keep: number, drop: number): boolean {
    this.#checkLive()
    const length = this.#length
    const dropped = { keep, drop, length }
    if (keep < 0 || drop < 1 || keep + drop > length) {
      throw new HalfbyteError(
        'internal',
        `cannot drop ${drop} of ${length} positions after the first ${keep}`,
      )
    }
    if (!canShift(this.#cache, this.tables, dropped)) return false
    this.#ensureEach((table) => (table === undefined ? 0 : shiftNeed(table, dropped)))
    this.#path?.stopAt(keep)
    this.slabs.forget(keep)
    for (const [group, table] of this.tables.entries()) shiftTable(this.#cache, group, table, dropped)
    this.#length = length - drop
    return true
  }

  /**
   * A second sequence with the same positions. Blocks are shared until one of the two writes. `tokens`: its
   * own list.
   */
  fork(tokens?: readonly number[]): SequenceState {
    this.#checkLive()
    const copy = new SequenceState(this.#cache, tokens)
    copy.#follow(this, this.#length)
    if (this.#path !== undefined) copy.#path?.follow(this.#path)
    return copy
  }

  /** Continues from a result of `StateCache.find`, which replaces the sequence's state. */
  adopt({ tokens, runs, checkpoint }: Prefix): void {
    this.#checkLive()
    const { tree } = this.#cache
    // Hold the prefix before releasing anything, because it may be this sequence's own.
    const held = new SequenceState(this.#cache)
    for (const [group, table] of held.tables.entries()) {
      table.startAt(tree.firstNeeded(group, tokens) * BLOCK_POSITIONS)
      for (let index = table.first; index < runs.length; index++)
        table.share(index, runs[index]!.blocks[group]!)
    }
    if (checkpoint !== undefined) {
      held.slabs.restore(checkpoint)
      held.slabs.hold(checkpoint)
    }
    this.trim(0)
    this.#follow(held, tokens)
    held.release()
  }

  /** Shares the first `length` positions of another sequence. Only for an empty sequence. */
  #follow(other: SequenceState, length: number): void {
    const end = Math.ceil(length / BLOCK_POSITIONS)
    for (const [group, table] of this.tables.entries()) table.follow(other.tables[group]!, end)
    this.slabs.follow(other.slabs)
    this.#length = length
  }

  /** Adds all stored positions to the token tree, before this sequence drops some of them. */
  keep(): void {
    this.#path?.keep()
  }

  /**
   * Releases everything. The state cannot be used afterwards. State that may be a prefix of other sequences
   * is retained for them while there is memory. A second call is harmless.
   */
  release(): void {
    if (this.#released) return
    this.keep()
    this.trim(0)
    this.#released = true
    this.#cache.giveTables(this.tables[0]?.address)
    if (this.#path !== undefined) this.#cache.sharing.delete(this.#path)
    // State that only this sequence shared with the tree is now merely retained, and counts against the
    // limit.
    this.#cache.shrink()
  }

  /** Frees the blocks that no later row can attend to. */
  #leaveBehind(): void {
    for (let group = 0; group < this.tables.length; group++) {
      const table = this.tables[group]!
      const needed = this.#cache.tree.firstNeeded(group, this.#length)
      if (needed <= table.first) continue
      this.#path?.share()
      table.leave(needed)
    }
  }

  /** True if every window still has the blocks to continue after `position`. */
  #reaches(position: number): boolean {
    return this.tables.every(
      ({ validFrom }, group) => validFrom <= this.#cache.tree.firstSeen(group, position),
    )
  }

  #checkpointBefore(position: number): Checkpoint | undefined {
    return this.slabs.checkpoints.findLast(
      (checkpoint) => checkpoint.position <= position && this.#reaches(checkpoint.position),
    )
  }

  /** Returns whether anything must be taken. */
  #makeRoom(start: number, end: number, windowsToo: boolean): boolean {
    if (this.#count(start, end, windowsToo) === 0) return false
    this.#ensure(() => this.#count(start, end, windowsToo))
    return true
  }

  /** `need`: how many blocks a group must take. A recurrent group has no table and takes slabs. */
  #ensureEach(need: (table: BlockTable | undefined) => number): void {
    this.#ensure(() => {
      for (let group = 0; group < this.#needs.length; group++) this.#needs[group] = need(this.tables[group])
    })
  }

  /** `count` writes to `#needs` how many must be taken. */
  #ensure(count: () => void): void {
    count()
    try {
      this.#cache.ensure(this.#needs)
    } catch (error) {
      const isFull = isHalfbyteError(error) && error.code === 'out-of-memory'
      // Blocks that only the tree shares with this sequence need no copy once the tree drops them.
      if (!isFull || !this.#cache.clear()) throw error
      count()
      this.#cache.ensure(this.#needs)
    }
  }

  /**
   * Writes to `#needs` how many blocks and slabs are needed, optionally without windows. Returns their sum.
   */
  #count(start: number, end: number, windowsToo: boolean): number {
    const first = Math.floor(start / BLOCK_POSITIONS)
    const last = Math.ceil(end / BLOCK_POSITIONS)
    let wanted = 0
    for (let group = 0; group < this.#needs.length; group++) {
      const table = this.tables[group]
      let need = 0
      if (table === undefined) need = this.slabs.isMissing(group - this.tables.length) ? 1 : 0
      else if (windowsToo || this.#cache.windows[group] === 0) need = table.missing(first, last)
      this.#needs[group] = need
      wanted += need
    }
    return wanted
  }

  #checkFits(end: number): void {
    if (end > this.#cache.contextLength) throw overflow(end, this.#cache.contextLength)
  }

  #checkLive(): void {
    if (this.#released) throw new HalfbyteError('disposed', 'this sequence was released; create another')
  }
}
