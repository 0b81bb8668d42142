// Merges neighbouring symbols of a word, in the order that a rule decides, until no more can merge.

/** V8 copies slices up to this length. A longer slice would keep its source text alive. */
const LONGEST = 12
const MAX = 1 << 15

/**
 * Returns a function that adds a word's ids to `out`. A full cache is cleared, which is cheaper than tracking
 * use.
 */
export function cachedWords(
  encode: (word: string) => readonly number[],
): (word: string, out: number[]) => void {
  const words = new Map<string, readonly number[]>()
  return (word, out) => {
    let ids = words.get(word)
    if (ids === undefined) {
      ids = encode(word)
      if (word.length <= LONGEST) {
        if (words.size >= MAX) words.clear()
        words.set(word, ids)
      }
    }
    for (const id of ids) out.push(id)
  }
}

/**
 * Decides which neighbours merge, and in what order. A merge is an opaque number that only the rule
 * interprets.
 */
interface MergeRule {
  /** The merge of the symbols `left` and `right`, which cover [start, end) together, or -1. */
  find(left: number, right: number, start: number, end: number): number
  /** The lowest priority merges first; among equals, the leftmost. */
  priority(merge: number): number
  /** The symbol that a merge produces. */
  symbol(merge: number): number
}

/** Words up to this length share scratch memory. Longer words are rare and allocate their own. */
const SHARED_LENGTH = 4096

/**
 * Merges the best adjacent pair until none is left, in O(n log n): the symbols are a linked list over the
 * word's positions, the pairs a binary heap. A pair in the heap is stale if its neighbours have changed
 * since.
 */
export class Merger {
  readonly #rule: MergeRule
  #room = 0
  #symbols = new Int32Array(0)
  /** Position of the next symbol, where this one ends. 0 if this one is now part of another symbol. */
  #next = new Int32Array(0)
  #previous = new Int32Array(0)
  #count = 0
  // The heap, stored as columns.
  #heapSize = 0
  #priorities = new Float64Array(0)
  #starts = new Int32Array(0)
  #ends = new Int32Array(0)
  #merges = new Int32Array(0)

  constructor(rule: MergeRule) {
    this.#rule = rule
  }

  /**
   * Returns the array to fill with the `count` symbols of the next word. -1 means a symbol that is not a
   * token.
   */
  begin(count: number): Int32Array {
    this.#count = count
    const isShared = count <= SHARED_LENGTH
    if (this.#room < count || (isShared && this.#room > SHARED_LENGTH)) {
      this.#allocate(isShared ? SHARED_LENGTH : count)
    }
    return this.#symbols
  }

  /**
   * Merges the symbols. The result is in `symbols` and `positions`, from 0. Returns the number of symbols
   * left.
   */
  merge(): number {
    const count = this.#count
    for (let at = 0; at < count; at++) {
      this.#next[at] = at + 1
      this.#previous[at] = at - 1
    }
    this.#heapSize = 0
    for (let at = 0; at + 1 < count; at++) this.#offer(at)
    while (this.#heapSize > 0) this.#mergeBest()
    return this.#compact()
  }

  get symbols(): Int32Array {
    return this.#symbols
  }

  /** The original position of each remaining symbol. */
  get positions(): Int32Array {
    return this.#starts
  }

  #mergeBest(): void {
    const start = this.#starts[0]!
    const end = this.#ends[0]!
    const merge = this.#merges[0]!
    this.#removeBest()
    const right = this.#next[start]!
    if (right === 0 || right === this.#count || this.#next[right] !== end) return
    this.#symbols[start] = this.#rule.symbol(merge)
    this.#next[start] = end
    this.#next[right] = 0
    if (end < this.#count) {
      this.#previous[end] = start
      this.#offer(start)
    }
    const previous = this.#previous[start]!
    if (previous >= 0) this.#offer(previous)
  }

  /** Adds the pair that begins at `start` to the heap, if it can merge. */
  #offer(start: number): void {
    const right = this.#next[start]!
    const end = this.#next[right]!
    const merge = this.#rule.find(this.#symbols[start]!, this.#symbols[right]!, start, end)
    if (merge < 0) return
    let at = this.#heapSize++
    const priority = this.#rule.priority(merge)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(priority, start, parent)) break
      this.#move(parent, at)
      at = parent
    }
    this.#put(at, priority, start, end, merge)
  }

  #removeBest(): void {
    const last = --this.#heapSize
    if (last === 0) return
    const priority = this.#priorities[last]!
    const start = this.#starts[last]!
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= last) break
      const other = child + 1
      if (other < last && this.#isBefore(this.#priorities[other]!, this.#starts[other]!, child)) {
        child = other
      }
      if (this.#isBefore(priority, start, child)) break
      this.#move(child, at)
      at = child
    }
    this.#put(at, priority, start, this.#ends[last]!, this.#merges[last]!)
  }

  #isBefore(priority: number, start: number, entry: number): boolean {
    const other = this.#priorities[entry]!
    return priority < other || (priority === other && start < this.#starts[entry]!)
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#priorities[from]!, this.#starts[from]!, this.#ends[from]!, this.#merges[from]!)
  }

  #put(at: number, priority: number, start: number, end: number, merge: number): void {
    this.#priorities[at] = priority
    this.#starts[at] = start
    this.#ends[at] = end
    this.#merges[at] = merge
  }

  #compact(): number {
    let left = 0
    for (let at = 0; at < this.#count; at = this.#next[at]!) {
      this.#symbols[left] = this.#symbols[at]!
      this.#starts[left++] = at
    }
    return left
  }

  #allocate(count: number): void {
    this.#room = count
    this.#symbols = new Int32Array(count)
    this.#next = new Int32Array(count)
    this.#previous = new Int32Array(count)
    // One pair per symbol at first, then at most two per merge; there are fewer merges than symbols.
    const pairs = 3 * count
    this.#priorities = new Float64Array(pairs)
    this.#starts = new Int32Array(pairs)
    this.#ends = new Int32Array(pairs)
    this.#merges = new Int32Array(pairs)
  }
}
