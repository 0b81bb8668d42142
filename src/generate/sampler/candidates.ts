// Candidates. In: a row of logits. Out: the ids still in the race, best first, without allocating per token.
import { HalfbyteError } from '../../base/errors.ts'
import type { LogitRows } from './rows.ts'

/** Sorted at first where every id is in the race, and how many times more when that is not enough. */
const HEAD = 64
const GROWTH = 8
/** A total that nobody has asked for yet. */
const UNKNOWN = -1

/**
 * The ids in the race, sorted by falling logit, the lower id first among equals. Where no top k bounds them, only their
 * head is sorted at first: the race is open, and `has` sorts more for who looks past it.
 *
 * `weights` are e^((logit - best) * scale) of the entries [0, count); `total` is the sum over the race, whatever is
 * sorted. A probability is weight / total.
 */
export class Candidates {
  /** Entries that are sorted. */
  count = 0
  readonly #rows: LogitRows
  #row: Float32Array = new Float32Array()
  /** Logits below are not in the race. */
  #least = Number.NEGATIVE_INFINITY
  #scale = 1
  /** More may be in the race than are sorted. */
  #isOpen = false
  /** Every id from `least` on is in the race, so its total is one over the row. */
  #isWhole = false
  #total = UNKNOWN

  constructor(rows: LogitRows) {
    this.#rows = rows
  }

  get vocab(): number {
    return this.#rows.vocab
  }

  get ids(): Uint32Array {
    return this.#rows.ids
  }

  get logits(): Float32Array {
    return this.#rows.logits
  }

  get weights(): Float32Array {
    return this.#rows.weights
  }

  get total(): number {
    if (this.#total === UNKNOWN) {
      this.#total = this.#rows.sumExp(this.#row, this.logits[0] as number, this.#scale, this.#least)
    }
    return this.#total
  }

  // hot
  /**
   * Begins with the best `topK` of `row`, 0 for all, that are at or above `least`. The row belongs to the race until the
   * next one. Throws `integrity` on NaN or +Infinity, `unsupported` when every id is banned.
   */
  start(row: Float32Array, topK: number, least: number, scale: number): void {
    this.#row = row
    this.#least = least
    this.count = this.#rows.top(row, topK === 0 ? HEAD : topK, least)
    if (this.count === 0) throw allBanned(row.length)
    this.#isOpen = topK === 0 && this.count === HEAD
    this.#isWhole = this.#isOpen
    this.weigh(scale)
  }

  // hot
  /** True when there is an entry `index`; it is sorted then. */
  has(index: number): boolean {
    while (index >= this.count && this.#isOpen) this.#sort(this.count * GROWTH)
    return index < this.count
  }

  /** Sorts all that are in the race. */
  complete(): void {
    if (this.#isOpen) this.#sort(this.vocab)
  }

  // hot
  /** Makes the weights those of the logits times `scale`. */
  weigh(scale: number): void {
    this.#scale = scale
    const sum = this.#rows.weigh(this.count, scale)
    this.#total = this.#isWhole ? UNKNOWN : sum
  }

  // hot
  /** Only the first `count` stay. */
  cut(count: number): void {
    const { weights } = this
    let total = 0
    for (let index = 0; index < count; index++) total += weights[index] as number
    this.count = count
    this.#total = total
    this.#isOpen = false
    this.#isWhole = false
  }

  // hot
  /** Only those stay that weigh at least `share` of the best, 0 to 1; by the logit, whose weight is rounded. */
  floor(share: number): void {
    const { logits } = this
    const least = Math.fround((logits[0] as number) + Math.log(share) / this.#scale)
    if (this.#isOpen && (logits[this.count - 1] as number) >= least) {
      this.#least = Math.max(this.#least, least)
      this.#total = UNKNOWN
      return
    }
    let count = 1
    while (count < this.count && (logits[count] as number) >= least) count++
    this.cut(count)
  }

  /** Only the entries [from, to) stay. */
  keep(from: number, to: number): void {
    this.#isOpen = false
    this.#isWhole = false
    this.#move(from, to)
  }

  /** The first `dropped` leave the race. */
  drop(dropped: number): void {
    for (let index = 0; index < dropped; index++) {
      this.#row[this.ids[index] as number] = Number.NEGATIVE_INFINITY
    }
    this.#move(dropped, this.count)
  }

  // hot
  /** The entry that the uniform number `u` in [0, 1) falls on. */
  draw(u: number): number {
    let rest = u * this.total
    for (let index = 0; this.has(index); index++) {
      rest -= this.weights[index] as number
      if (rest < 0) return index
    }
    // Rounding used up more than there was.
    return 0
  }

  #move(from: number, to: number): void {
    this.ids.copyWithin(0, from, to)
    this.logits.copyWithin(0, from, to)
    this.count = to - from
    this.weigh(this.#scale)
  }

  /** Sorts the best `most`, which begin with those that are sorted. The total stays what it is. */
  #sort(most: number): void {
    this.count = this.#rows.top(this.#row, Math.min(most, this.vocab), this.#least)
    this.#isOpen = this.count === most && most < this.vocab
    this.#rows.weigh(this.count, this.#scale)
  }
}

function allBanned(vocab: number): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `all ${vocab} ids are banned, so none can be next; loosen the bans, the constraint or the processors`,
    { vocab },
  )
}
