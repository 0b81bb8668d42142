// Step cost. In: how long decode steps of so many rows took. Out: what a step of any number of rows would take.

/** Row counts that are told apart. */
const MOST_ROWS = 64
/** Before other counts were tried a further row is taken to cost this share of the first: little, so that they are. */
const ROW_SHARE = 0.1
/** How much a new time moves what is known of its own row count, and of all: heat and long contexts slow all of them. */
const OWN_WEIGHT = 0.15
const COMMON_WEIGHT = 0.05
/** A single time says at most this many times what was known: pages freeze and collectors run. The first of its count may say more. */
const MOST_RATIO = 1.3
const FIRST_RATIO = 4
/** What is left of a time's weight with every later step: a count that looked slow once is tried again some day. */
const FADE = 0.99
/** Times of one count that weigh as much as the line through all, and those that the line takes into account. */
const LINE_WEIGHT = 1
const MOST_WEIGHT = 8

/**
 * Learns the time of steps whose rows all decode. Each row count has its own mean, for the cost has steps where kernels take
 * other paths; where that rests on few times it leans on a line through all of them. Never falls as rows are added.
 */
export class StepCost {
  /** By row count: mean milliseconds, 0 where never seen, and how many times it rests on. */
  readonly #seen = new Float64Array(MOST_ROWS + 1)
  readonly #weights = new Float64Array(MOST_ROWS + 1)
  readonly #ms = new Float64Array(MOST_ROWS + 1)
  /** Reused by `#rise`. */
  readonly #below = new Float64Array(MOST_ROWS + 1)

  // hot
  /** A step of `rows` rows, each with its logits, took `ms`. */
  observe(rows: number, ms: number): void {
    if (rows > MOST_ROWS || !(ms > 0)) return
    const weight = this.#weights[rows]! * FADE
    const known = this.#seen[rows]! || this.#ms[rows]! || ms
    const ratio = within(ms / known, weight < 0.5 ? FIRST_RATIO : MOST_RATIO)
    const common = 1 + COMMON_WEIGHT * (within(ratio, MOST_RATIO) - 1)
    for (let index = 1; index <= MOST_ROWS; index++) {
      this.#seen[index]! *= common
      this.#weights[index]! *= FADE
    }
    const own = this.#seen[rows]!
    const step = Math.max(OWN_WEIGHT, 1 / (weight + 1)) * (ratio - 1)
    this.#seen[rows] = own === 0 ? known * ratio : own * (1 + step)
    this.#weights[rows] = weight + 1
    this.#estimate()
  }

  /** Milliseconds; 0 while nothing is known. */
  ms(rows: number): number {
    if (rows <= MOST_ROWS) return this.#ms[rows]!
    return (this.#ms[MOST_ROWS]! * rows) / MOST_ROWS
  }

  /** Leans the means on the least-squares line, whose slope begins as `ROW_SHARE` says. */
  #estimate(): void {
    let all = 0
    let rowSum = 0
    let msSum = 0
    let rowSquares = 0
    let products = 0
    for (let rows = 1; rows <= MOST_ROWS; rows++) {
      const weight = Math.min(this.#weights[rows]!, MOST_WEIGHT)
      const ms = this.#seen[rows]!
      all += weight
      rowSum += weight * rows
      msSum += weight * ms
      rowSquares += weight * rows * rows
      products += weight * rows * ms
    }
    const middle = rowSum / all
    const height = msSum / all
    const first = height / (1 + ROW_SHARE * (middle - 1))
    const covariance = products - all * middle * height
    const slope = Math.max(0, (covariance + ROW_SHARE * first) / (rowSquares - all * middle * middle + 1))
    for (let rows = 1; rows <= MOST_ROWS; rows++) {
      const line = Math.max(0, height + slope * (rows - middle))
      const weight = this.#weights[rows]!
      this.#ms[rows] = (weight * this.#seen[rows]! + LINE_WEIGHT * line) / (weight + LINE_WEIGHT)
    }
    this.#rise()
  }

  /** Makes them rise: halfway between the least values above them that do, and the greatest below. */
  #rise(): void {
    let most = Number.POSITIVE_INFINITY
    for (let rows = MOST_ROWS; rows >= 1; rows--) {
      most = Math.min(most, this.#ms[rows]!)
      this.#below[rows] = most
    }
    let least = 0
    for (let rows = 1; rows <= MOST_ROWS; rows++) {
      least = Math.max(least, this.#ms[rows]!)
      this.#ms[rows] = (least + this.#below[rows]!) / 2
    }
  }
}

const within = (ratio: number, most: number): number => Math.min(Math.max(ratio, 1 / most), most)
