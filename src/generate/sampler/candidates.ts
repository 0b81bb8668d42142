// Candidates. In: a row of logits. Out: the ids still in the race, best first, without allocating per token.
import { HalfbyteError } from '../../base/errors.ts'
import type { LogitRows } from './rows.ts'

/** Sorted at first where every id is in the race: few stages, and hardly a draw, look further. */
const HEAD = 256

/**
 * The ids in the race, sorted by falling logit, the lower id first among equals. Where no top k bounds them, only their
 * head is sorted at first: the race is open, and `has` sorts the rest for who looks past the head.
 *
 * `weights` are e^((logit - best) * scale) of the entries [0, count); `total` is the sum over the race, whatever is
 * sorted. A probability is weight / total.
 */
export class Candidates {
  /** Entries that are sorted. */
  count = 0
  total = 0
  readonly #rows: LogitRows
  #row: Float32Array = new Float32Array()
  /** Logits below are not in the race. */
  #least = Number.NEGATIVE_INFINITY
  #scale = 1
  /** More are in the race than are sorted. */
  #isOpen = false

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

  // hot
  /**
   * Begins with the best `topK` of `row`, 0 for all, that are at or above `least`. The row belongs to the race until the
   * next one. Throws `internal` on NaN or +Infinity, `unsupported` when every id is banned.
   */
  start(row: Float32Array, topK: number, least: number, scale: number): void {
    const most = topK === 0 ? HEAD : topK
    this.#row = row
    this.#least = least
    this.count = this.#rows.top(row, most, least)
    if (this.count === 0) throw allBanned(row.length)
    this.#isOpen = topK === 0 && this.count === HEAD
    this.weigh(scale)
  }

  /** True when there is an entry `index`; it is sorted then. */
  has(index: number): boolean {
    if (index >= this.count) this.complete()
    return index < this.count
  }

  /** Sorts all that are in the race. The head and the total stay as they are. */
  complete(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.count = this.#rows.top(this.#row, this.#rows.vocab, this.#least)
    this.#rows.weigh(this.count, this.#scale)
  }

  // hot
  /** Makes the weights those of the logits times `scale`. */
  weigh(scale: number): void {
    this.#scale = scale
    this.total = this.#rows.weigh(this.count, scale)
    if (!this.#isOpen) return
    this.total = this.#rows.sumExp(this.#row, this.logits[0] as number, scale, this.#least)
  }

  // hot
  /** Only the first `count` stay. */
  cut(count: number): void {
    const { weights } = this
    this.#isOpen = false
    this.count = count
    this.total = 0
    for (let index = 0; index < count; index++) this.total += weights[index] as number
  }

  /** Only the entries [from, to) stay. */
  keep(from: number, to: number): void {
    this.#isOpen = false
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
}

function allBanned(vocab: number): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `all ${vocab} ids are banned, so none can be next; loosen the bans, the constraint or the processors`,
    { vocab },
  )
}
