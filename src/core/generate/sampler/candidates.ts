// The remaining ids of a row of logits, best first, without allocating for each token.
import { HalfbyteError } from '../../base/errors.ts'
import type { LogitRows } from './logit-rows.ts'

/**
 * Natural logarithms of the model's own probabilities: softmax of the raw row, before guidance, masks,
 * penalties, selection and temperature. All fields describe the last row.
 */
export class LogProbabilities {
  /** The `count` most likely ids, best first. */
  readonly ids: Uint32Array
  readonly logprobs: Float32Array
  count = 0
  readonly #rows: LogitRows
  #raw: Float32Array = new Float32Array()
  /** Logarithm of the sum of e^logit. */
  #normaliser = 0

  /** `top`: number of most likely ids to find, 0 or more. Throws `out-of-memory`. */
  constructor(rows: LogitRows, top: number) {
    this.#rows = rows
    this.ids = new Uint32Array(Math.min(top, rows.vocab))
    this.logprobs = new Float32Array(this.ids.length)
    rows.reserve(top, true)
  }

  // hot
  /** Reads a row before it is changed. Throws `integrity` on NaN or +Infinity. */
  observe(row: Float32Array): void {
    const rows = this.#rows
    this.#raw = rows.keep(row)
    const count = rows.top(row, Math.max(1, this.ids.length), Number.NEGATIVE_INFINITY)
    const best = rows.logits[0]!
    this.#normaliser = best + Math.log(rows.sumExp(row, best, 1, Number.NEGATIVE_INFINITY))
    this.count = Math.min(count, this.ids.length)
    for (let index = 0; index < this.count; index++) {
      this.ids[index] = rows.ids[index]!
      this.logprobs[index] = rows.logits[index]! - this.#normaliser
    }
  }

  /**
   * The log-probability of any id, rounded to f32, because JavaScript engines differ in the last bits of the
   * f64 logarithm.
   */
  of(id: number): number {
    return Math.fround(this.#raw[id]! - this.#normaliser)
  }
}

/**
 * Number of entries that are sorted at first if every id is a candidate, and the factor by which this grows
 * when more are needed.
 */
const HEAD = 64
const GROWTH = 8
/** Marks a total that has not been computed yet. */
const UNKNOWN = -1

/**
 * The remaining candidates, sorted by descending logit; on ties, the lower id comes first. Without top-k,
 * only the first entries are sorted initially, and `has` sorts more when a stage looks further.
 *
 * `weights` are e^((logit - best) * scale) of the entries [0, count). `total` is the sum over all candidates,
 * including those that are not sorted yet. A probability is weight / total.
 */
export class Candidates {
  /** Number of sorted entries. */
  count = 0
  readonly #rows: LogitRows
  #row: Float32Array = new Float32Array()
  /** Ids with lower logits are not candidates. */
  #least = Number.NEGATIVE_INFINITY
  #scale = 1
  /** True if there may be more candidates than are sorted. */
  #isOpen = false
  /** True if every id at or above `least` is a candidate, so that the total is a sum over the row. */
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
      this.#total = this.#rows.sumExp(this.#row, this.logits[0]!, this.#scale, this.#least)
    }
    return this.#total
  }

  // hot
  /**
   * Starts with the best `topK` of `row` (0: all) that are at or above `least`. The row must not change until
   * the next `start`. Throws `integrity` on NaN or +Infinity, `unsupported` if every id is banned.
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
  /** True if there is an entry `index`; it is then sorted. */
  has(index: number): boolean {
    while (index >= this.count && this.#isOpen) this.#sort(this.count * GROWTH)
    return index < this.count
  }

  /** Sorts all candidates. */
  complete(): void {
    if (this.#isOpen) this.#sort(this.vocab)
  }

  // hot
  /** Computes the weights from the logits times `scale`. */
  weigh(scale: number): void {
    this.#scale = scale
    const sum = this.#rows.weigh(this.count, scale)
    this.#total = this.#isWhole ? UNKNOWN : sum
  }

  // hot
  /** Keeps only the first `count` entries. */
  cut(count: number): void {
    const { weights } = this
    let total = 0
    for (let index = 0; index < count; index++) total += weights[index]!
    this.count = count
    this.#total = total
    this.#isOpen = false
    this.#isWhole = false
  }

  // hot
  /**
   * Keeps entries that weigh at least `share` (0 to 1) of the best. Compares logits, because weights are
   * rounded.
   */
  floor(share: number): void {
    const { logits } = this
    const least = Math.fround(logits[0]! + Math.log(share) / this.#scale)
    if (this.#isOpen && logits[this.count - 1]! >= least) {
      this.#least = Math.max(this.#least, least)
      this.#total = UNKNOWN
      return
    }
    let count = 1
    while (count < this.count && logits[count]! >= least) count++
    this.cut(count)
  }

  /** Keeps only the entries [from, to). */
  keep(from: number, to: number): void {
    this.#isOpen = false
    this.#isWhole = false
    this.#move(from, to)
  }

  /** Removes the first `dropped` entries. */
  drop(dropped: number): void {
    for (let index = 0; index < dropped; index++) {
      this.#row[this.ids[index]!] = Number.NEGATIVE_INFINITY
    }
    this.#move(dropped, this.count)
  }

  // hot
  /** The entry that the uniform number `u` in [0, 1) selects. */
  draw(u: number): number {
    let rest = u * this.total
    for (let index = 0; this.has(index); index++) {
      rest -= this.weights[index]!
      if (rest < 0) return index
    }
    // Rounding made the sum of the weights smaller than the total.
    return 0
  }

  #move(from: number, to: number): void {
    this.ids.copyWithin(0, from, to)
    this.logits.copyWithin(0, from, to)
    this.count = to - from
    this.weigh(this.#scale)
  }

  /**
   * Sorts the best `most` entries, starting after those that are already sorted. The total does not change.
   */
  #sort(most: number): void {
    this.count = this.#rows.top(this.#row, Math.min(most, this.vocab), this.#least)
    this.#isOpen = this.count === most && most < this.vocab
    this.#rows.weigh(this.count, this.#scale)
  }
}

function allBanned(vocab: number): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `all ${vocab} token ids are banned, so none can be sampled; loosen the bans, the constraint or the processors`,
    { vocab },
  )
}
