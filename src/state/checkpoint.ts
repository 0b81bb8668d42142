// Checkpoints. In: recurrent slabs at positions worth returning to. Out: the same slabs later, the oldest given up first.
import type { Ptr } from '../runtime/arena.ts'
import type { BlockPool } from './block-pool.ts'

/** The recurrent state after `position` tokens: one slab per recurrent group, never written while it is held. */
export interface Checkpoint {
  readonly position: number
  readonly slabs: readonly Ptr[]
}

/**
 * Holds checkpoints under a byte budget. Sequences and the token tree hold the same checkpoint together; when the budget
 * ends, the one that was used longest ago is taken from all of them: ask `isKept` before use.
 */
export class Checkpoints {
  readonly #pools: readonly BlockPool[]
  readonly #budgetBytes: number
  /** Holders of each, oldest use first. */
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

  /** Bytes of all of them, those included that a sequence still goes on from. */
  get bytes(): number {
    return this.count * this.slabBytes
  }

  /** Bytes of the slabs that only checkpoints hold which `holds` holds alone; `holds`: one entry for each time that it holds one. */
  bytesOnlyIn(holds: readonly Checkpoint[]): number {
    const others = new Map(this.#holders)
    for (const checkpoint of holds) others.set(checkpoint, others.get(checkpoint)! - 1)
    // All slabs of a checkpoint are shared, written and dropped together: the first stands for the others.
    const alone = [...others].flatMap(([{ slabs }, count]) => (count === 0 ? slabs.slice(0, 1) : []))
    const only = (slab: Ptr) =>
      alone.filter((one) => one === slab).length === this.#pools[0]!.references(slab)
    return [...new Set(alone)].filter(only).length * this.slabBytes
  }

  isKept(checkpoint: Checkpoint): boolean {
    return this.#holders.has(checkpoint)
  }

  /** A new one with one holder; the slabs are shared, so whoever writes them next copies them. Undefined where none fits. */
  take(position: number, slabs: readonly Ptr[]): Checkpoint | undefined {
    if (this.slabBytes > this.#budgetBytes) return undefined
    while (this.bytes + this.slabBytes > this.#budgetBytes) this.evict()
    for (const [group, slab] of slabs.entries()) this.#pools[group]!.share(slab)
    const checkpoint = { position, slabs: [...slabs] }
    this.#holders.set(checkpoint, 1)
    return checkpoint
  }

  /** One more holder. Marks it as used. */
  hold(checkpoint: Checkpoint): void {
    const holders = this.#holders.get(checkpoint)
    if (holders === undefined) return
    this.#holders.delete(checkpoint)
    this.#holders.set(checkpoint, holders + 1)
  }

  /** One holder less; the last one gives the slabs back. Harmless for one that was evicted. */
  drop(checkpoint: Checkpoint): void {
    const holders = this.#holders.get(checkpoint)
    if (holders === undefined) return
    if (holders > 1) this.#holders.set(checkpoint, holders - 1)
    else this.#remove(checkpoint)
  }

  /** Gives up the one that was used longest ago. False when there is none. */
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
