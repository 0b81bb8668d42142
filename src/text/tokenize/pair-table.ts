// Pair table. In: pairs of ids, each with a rank. Out: the rank of a pair, or -1.

/**
 * A hash table with open addressing in one typed array. It takes a quarter of a Map's memory and builds no
 * keys.
 */
export class PairTable {
  readonly #slots: Int32Array // [slot][left + 1, right, rank]; 0 is free
  readonly #mask: number
  // Random in each table: nobody can then construct merges whose pairs all collide.
  readonly #left = randomOdd()
  readonly #right = randomOdd()

  constructor(pairs: number) {
    const slots = 2 ** Math.ceil(Math.log2(pairs * 2 + 2))
    this.#slots = new Int32Array(slots * 3)
    this.#mask = slots - 1
  }

  /** Adds a pair; an existing pair keeps its rank. Do not add more pairs than the table was made for. */
  add(left: number, right: number, rank: number): void {
    const at = this.#slot(left, right) * 3
    if (this.#slots[at] !== 0) return
    this.#slots[at] = left + 1
    this.#slots[at + 1] = right
    this.#slots[at + 2] = rank
  }

  get(left: number, right: number): number {
    // An unknown symbol would look like a free slot.
    if (left < 0) return -1
    const at = this.#slot(left, right) * 3
    return this.#slots[at] === 0 ? -1 : (this.#slots[at + 2] as number)
  }

  /** The slot of the pair, or the free slot where it belongs. */
  #slot(left: number, right: number): number {
    const mixed = Math.imul(left, this.#left) ^ Math.imul(right, this.#right)
    let slot = (Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d) >>> 7) & this.#mask
    for (;;) {
      const found = this.#slots[slot * 3]
      if (found === 0 || (found === left + 1 && this.#slots[slot * 3 + 1] === right)) return slot
      slot = (slot + 1) & this.#mask
    }
  }
}

function randomOdd(): number {
  return (Math.random() * 2 ** 32) | 1
}
