// The recurrent state of one sequence, and the checkpoints that it can be restored from.
import type { Ptr } from '../runtime/memory/arena.ts'
import type { BlockPool } from './block-pool.ts'

/**
 * The recurrent state after `position` tokens: one slab per recurrent group. A slab is immutable while a
 * checkpoint holds it.
 */
export interface Checkpoint {
  readonly position: number
  readonly slabs: readonly Ptr[]
}

/**
 * Holds checkpoints under a byte budget. Sequences and the token tree can hold the same checkpoint. When the
 * budget is exhausted, the least recently used checkpoint is evicted for all its holders: check `isKept`
 * before use.
 */
export class Checkpoints {
  readonly #pools: readonly BlockPool[]
  readonly #budgetBytes: number
  /** Number of holders of each checkpoint, least recently used first. */
  readonly #holders = new Map<Checkpoint, number>()

  /** `pools`: one per recurrent group. */
  constructor(pools: readonly BlockPool[], budgetBytes: number) {
    this.#pools = pools
    this.#budgetBytes = budgetBytes
  }

  get count(): number {
    return this.#holders.size
  }

  /** Bytes of one checkpoint. */
  get slabBytes(): number {
    return this.#pools.reduce((sum, { blockBytes }) => sum + blockBytes, 0)
  }

  /** Bytes of all checkpoints, including those that a sequence still uses as its state. */
  get bytes(): number {
    return this.count * this.slabBytes
  }

  /**
   * Bytes of the slabs that only checkpoints hold, where these checkpoints are held only by `holds`. `holds`
   * has one entry per reference.
   */
  bytesOnlyIn(holds: readonly Checkpoint[]): number {
    const others = new Map(this.#holders)
    for (const checkpoint of holds) others.set(checkpoint, others.get(checkpoint)! - 1)
    // All slabs of a checkpoint are shared, written and dropped together, so the first one represents them
    // all.
    const alone = [...others].flatMap(([{ slabs }, count]) => (count === 0 ? slabs.slice(0, 1) : []))
    const only = (slab: Ptr) =>
      alone.filter((one) => one === slab).length === this.#pools[0]!.references(slab)
    return [...new Set(alone)].filter(only).length * this.slabBytes
  }

  isKept(checkpoint: Checkpoint): boolean {
    return this.#holders.has(checkpoint)
  }

  /**
   * A new checkpoint with one holder. Its slabs become shared, so the next writer copies them. Undefined if a
   * single checkpoint exceeds the budget.
   */
  take(position: number, slabs: readonly Ptr[]): Checkpoint | undefined {
    if (this.slabBytes > this.#budgetBytes) return undefined
    while (this.bytes + this.slabBytes > this.#budgetBytes) this.evict()
    for (const [group, slab] of slabs.entries()) this.#pools[group]!.share(slab)
    const checkpoint = { position, slabs: [...slabs] }
    this.#holders.set(checkpoint, 1)
    return checkpoint
  }

  /** Adds a holder, and marks the checkpoint as used. */
  hold(checkpoint: Checkpoint): void {
    const holders = this.#holders.get(checkpoint)
    if (holders === undefined) return
    this.#holders.delete(checkpoint)
    this.#holders.set(checkpoint, holders + 1)
  }

  /** Removes a holder. The last one frees the slabs. Harmless for an evicted checkpoint. */
  drop(checkpoint: Checkpoint): void {
    const holders = this.#holders.get(checkpoint)
    if (holders === undefined) return
    if (holders > 1) this.#holders.set(checkpoint, holders - 1)
    else this.#remove(checkpoint)
  }

  /** Evicts the least recently used checkpoint. Returns false if there is none. */
  evict(): boolean {
    for (const checkpoint of this.#holders.keys()) {
      this.#remove(checkpoint)
      return true
    }
    return false
  }

  #remove(checkpoint: Checkpoint): void {
    this.#holders.delete(checkpoint)
    for (const [group, slab] of checkpoint.slabs.entries()) this.#pools[group]!.drop(slab)
  }
}

/**
 * The recurrent state of one sequence: one slab per recurrent group, f32. Each step rewrites it, and only
 * checkpoints keep earlier states. Empty for models without recurrent layers.
 */
export class StateSlabs {
  readonly #pools: readonly BlockPool[]
  readonly #store: Checkpoints
  /** Empty before the first token. */
  #slabs: Ptr[] = []
  /** Ascending by position. */
  #checkpoints: Checkpoint[] = []
  /** The checkpoint that `beginTrial` made, if any. */
  #trial: Checkpoint | undefined
  /** Later positions where a checkpoint is needed, ascending. */
  #marks: readonly number[] = []

  constructor(pools: readonly BlockPool[], store: Checkpoints) {
    this.#pools = pools
    this.#store = store
  }

  /** True for models with recurrent layers. */
  get areUsed(): boolean {
    return this.#pools.length > 0
  }

  /** Checkpoints that have not been evicted, ascending by position. */
  get checkpoints(): readonly Checkpoint[] {
    return this.#checkpoints.filter((checkpoint) => this.#store.isKept(checkpoint))
  }

  /** Address of a group's slab. 0 before the first `own`. */
  at(group: number): Ptr {
    return this.#slabs[group] ?? (0 as Ptr)
  }

  /** True if a slab must be taken before writing: the current one is absent, or has another holder. */
  isMissing(group: number): boolean {
    const slab = this.#slabs[group]
    return slab === undefined || this.#pools[group]!.references(slab) > 1
  }

  /** Makes every slab writable. New slabs are zero. */
  own(): void {
    for (let group = 0; group < this.#pools.length; group++) {
      if (!this.isMissing(group)) continue
      const pool = this.#pools[group]!
      const shared = this.#slabs[group]
      const own = pool.take()
      this.#slabs[group] = own
      if (shared === undefined) {
        pool.clear(own)
      } else {
        pool.copy(shared, own)
        pool.drop(shared)
      }
    }
  }

  /** Saves the state after `position` tokens. */
  checkpoint(position: number): void {
    if (this.#slabs.length === 0 || this.checkpoints.at(-1)?.position === position) return
    const taken = this.#store.take(position, this.#slabs)
    this.#checkpoints = [...this.checkpoints]
    if (taken !== undefined) this.#checkpoints.push(taken)
  }

  /**
   * Ensures that there is a checkpoint at `position`, so that the next rows can be undone. Returns false if
   * there is no memory for it.
   */
  beginTrial(position: number): boolean {
    if (!this.areUsed || this.checkpoints.at(-1)?.position === position) return true
    this.checkpoint(position)
    this.#trial = this.checkpoints.at(-1)
    if (this.#trial?.position === position) return true
    this.#trial = undefined
    return false
  }

  /** Forgets the checkpoint that `beginTrial` made. */
  endTrial(): void {
    const trial = this.#trial
    this.#trial = undefined
    const index = trial === undefined ? -1 : this.#checkpoints.indexOf(trial)
    if (trial === undefined || index < 0) return
    this.#checkpoints.splice(index, 1)
    this.#store.drop(trial)
  }

  /**
   * Requests checkpoints at the ascending `positions`, which `reach` will make. Replaces earlier requests.
   */
  markAt(positions: readonly number[]): void {
    if (this.areUsed) this.#marks = positions
  }

  /** The next position after `position` where a checkpoint is needed. */
  nextMark(position: number): number | undefined {
    return this.#marks.find((mark) => mark > position)
  }

  /** Makes a checkpoint if one is needed at `position`. */
  reach(position: number): void {
    if (this.#marks.includes(position)) this.checkpoint(position)
  }

  /** Returns to a checkpoint of this or another sequence, or to the beginning. */
  restore(checkpoint: Checkpoint | undefined): void {
    const old = this.#slabs
    this.#slabs = []
    if (checkpoint !== undefined) this.#take(checkpoint.slabs)
    for (const [group, slab] of old.entries()) this.#pools[group]!.drop(slab)
  }

  /** Holds one more checkpoint, later than all held so far. */
  hold(checkpoint: Checkpoint): void {
    this.#store.hold(checkpoint)
    this.#checkpoints.push(checkpoint)
  }

  /** Drops the checkpoints after `position`. */
  forget(position: number): void {
    while ((this.#checkpoints.at(-1)?.position ?? 0) > position) this.#store.drop(this.#checkpoints.pop()!)
  }

  /** Takes over another sequence's state. Slabs are shared until one of the two writes. */
  follow(other: StateSlabs): void {
    this.#take(other.#slabs)
    for (const checkpoint of other.checkpoints) this.hold(checkpoint)
  }

  #take(slabs: readonly Ptr[]): void {
    for (const [group, slab] of slabs.entries()) this.#pools[group]!.share(slab)
    this.#slabs = [...slabs]
  }
}
