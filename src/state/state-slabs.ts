// State slabs. In: pools of recurrent state. Out: one sequence's recurrent state, and checkpoints to go back
// to.
import type { Ptr } from '../runtime/memory/arena.ts'
import type { BlockPool } from './block-pool.ts'
import type { Checkpoint, Checkpoints } from './checkpoint.ts'

/**
 * The recurrent state of one sequence: one slab per recurrent group, f32. Each step rewrites it, and only
 * checkpoints keep earlier states. Empty for models without recurrent layers.
 */
export class StateSlabs {
  readonly #pools: readonly BlockPool[]
  readonly #store: Checkpoints
  /** Empty before the first token. */
  #slabs: Ptr[] = []
  /** Rising by position. */
  #checkpoints: Checkpoint[] = []
  /** The checkpoint that `beginTrial` made, if it made one. */
  #trial: Checkpoint | undefined
  /** Later positions where a checkpoint is wanted, rising. */
  #marks: readonly number[] = []

  constructor(pools: readonly BlockPool[], store: Checkpoints) {
    this.#pools = pools
    this.#store = store
  }

  /** True for models with recurrent layers. */
  get areUsed(): boolean {
    return this.#pools.length > 0
  }

  /** Checkpoints that have not been evicted, rising by position. */
  get checkpoints(): readonly Checkpoint[] {
    return this.#checkpoints.filter((checkpoint) => this.#store.isKept(checkpoint))
  }

  /** Address of a group's slab. 0 before the first `own`. */
  at(group: number): Ptr {
    return this.#slabs[group] ?? (0 as Ptr)
  }

  /**
   * True when a slab must be taken before this one can be written: it is absent, or it has another holder.
   */
  isMissing(group: number): boolean {
    const slab = this.#slabs[group]
    return slab === undefined || this.#pools[group]!.references(slab) > 1
  }

  /** Makes every slab writable. A new slab is zero. */
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

  /** Remembers the state after `position` tokens. */
  checkpoint(position: number): void {
    if (this.#slabs.length === 0 || this.checkpoints.at(-1)?.position === position) return
    const taken = this.#store.take(position, this.#slabs)
    this.#checkpoints = [...this.checkpoints]
    if (taken !== undefined) this.#checkpoints.push(taken)
  }

  /**
   * Makes sure that there is a checkpoint at `position`, to which the next rows can be undone. False when
   * there is no room for it.
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
   * Asks for a checkpoint at each of `positions`, rising, when `reach` gets there. Replaces earlier wishes.
   */
  markAt(positions: readonly number[]): void {
    if (this.areUsed) this.#marks = positions
  }

  /** The next position after `position` where a checkpoint is wanted. */
  nextMark(position: number): number | undefined {
    return this.#marks.find((mark) => mark > position)
  }

  /** Makes a checkpoint if one is wanted at `position`. */
  reach(position: number): void {
    if (this.#marks.includes(position)) this.checkpoint(position)
  }

  /** Goes back to a checkpoint, of this sequence or another, or to the beginning. */
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

  /** Forgets the checkpoints after `position`. */
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
