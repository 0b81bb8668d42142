// Checkpoints. In: recurrent slabs at positions worth returning to. Out: the same slabs later. The oldest are
// evicted first.
import type { Ptr } from '../runtime/memory/arena.ts'
import type { BlockPool } from './block-pool.ts'

/**
 * The recurrent state after `position` tokens: one slab per recurrent group. A slab is not written while it
 * is held.
 */
export interface Checkpoint {
  readonly position: number
  readonly slabs: readonly Ptr[]
}

/**
 * Holds checkpoints under a byte budget. Sequences and the token tree can hold the same checkpoint. When the
 * budget is used up, the least recently used checkpoint is evicted from all its holders: ask `isKept` before
 * use.
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
   * Bytes of the slabs that only checkpoints hold, where only `holds` holds those checkpoints. `holds` has
   * one entry for each reference.
   */
  bytesOnlyIn(holds: readonly Checkpoint[]): number {
    const others = new Map(this.#holders)
    for (const checkpoint of holds) others.set(checkpoint, others.get(checkpoint)! - 1)
    // All slabs of a checkpoint are shared, written and dropped together, so the first stands for the others.
    const alone = [...others].flatMap(([{ slabs }, count]) => (count === 0 ? slabs.slice(0, 1) : []))
    const only = (slab: Ptr) =>
      alone.filter((one) => one === slab).length === this.#pools[0]!.references(slab)
    return [...new Set(alone)].filter(only).length * this.slabBytes
  }

  isKept(checkpoint: Checkpoint): boolean {
    return this.#holders.has(checkpoint)
  }

  /**
   * A new checkpoint with one holder. Its slabs become shared, so the next writer copies them. Undefined when
   * one checkpoint exceeds the budget.
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

  /** Removes a holder. The last one gives the slabs back. Harmless for an evicted checkpoint. */
  drop(checkpoint: Checkpoint): void {
    const holders = this.#holders.get(checkpoint)
    if (holders === undefined) return
    if (holders > 1) this.#holders.set(checkpoint, holders - 1)
    else this.#remove(checkpoint)
  }

  /** Evicts the least recently used checkpoint. False when there is none. */
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
