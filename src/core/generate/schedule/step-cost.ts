// Learns how long a step takes for any number of rows, and how many prefill rows the next step may have.

/** Maximum milliseconds for which a step may delay aborts and other sequences. */
export const CHUNK_MS = 100
const FIRST_ROWS = 32
const LEAST_ROWS = 8
/** If shards exchange rows in every layer, steps of this many rows are worth twice the time. */
const LEAST_SHARED_OUT = 16
/** Share of the limit to aim for, because steps get slower as the context fills. */
const SAFETY = 0.85
/** Steps with fewer rows are poor predictors of large ones. */
const MAX_GROWTH = 4

/** Adapts the number of rows in prefill steps so that a step takes at most about `CHUNK_MS` ms. */
export class ChunkSize {
  readonly #most: number
  readonly #least: number
  #rows: number

  /**
   * `most`: maximum number of rows in a step of the plan. `isSharedOut`: every step has exchanges, even a
   * small one.
   */
  constructor(most: number, isSharedOut = false) {
    this.#most = most
    this.#least = isSharedOut ? LEAST_SHARED_OUT : LEAST_ROWS
    this.#rows = Math.min(FIRST_ROWS, most)
  }

  get rows(): number {
    return this.#rows
  }

  /** Records that a step of `rows` took `ms`. */
  observe(rows: number, ms: number): void {
    if (rows < LEAST_ROWS || !(ms >= 0)) return
    const fitting = Math.floor((SAFETY * CHUNK_MS * rows) / Math.max(ms, 0.001))
    const wanted = Math.min(fitting, MAX_GROWTH * Math.max(rows, this.#rows))
    const worth = Math.max(wanted, Math.min(this.#least, 2 * fitting))
    const whole = Math.floor(worth / LEAST_ROWS) * LEAST_ROWS
    this.#rows = Math.min(this.#most, Math.max(LEAST_ROWS, whole))
  }
}

/** Number of row counts that are tracked. */
const MAX_ROWS = 64
/**
 * Assumed cost of each further row, as a share of the first row's, before other row counts have been tried.
 * It is small, so that they get tried.
 */
const ROW_SHARE = 0.1
/**
 * Weights of a new measurement: for its own row count, and for all row counts, because heat and long contexts
 * slow all of them.
 */
const OWN_WEIGHT = 0.15
const COMMON_WEIGHT = 0.05
/**
 * A new time is capped at this multiple of the known one, because pages freeze and garbage collectors run.
 * The first time for a row count is not capped as tightly.
 */
const MAX_RATIO = 1.3
const FIRST_RATIO = 4
/**
 * Fraction of a time's weight that remains after each later step, so that a row count that was slow once gets
 * tried again.
 */
const FADE = 0.99
/**
 * How many measurements of one row count weigh as much as the line through all row counts, and how many are
 * needed to fit that line.
 */
const LINE_WEIGHT = 1
const MAX_WEIGHT = 8

/**
 * Learns the time of steps whose rows all decode. Each row count has its own mean, because the cost jumps
 * where kernels switch paths. While a mean rests on few measurements, it is pulled towards a line through all
 * means. The cost never decreases as rows are added.
 */
export class StepCost {
  /** For each row count: mean milliseconds (0: none yet), and the total weight of its times. */
  readonly #seen = new Float64Array(MAX_ROWS + 1)
  readonly #weights = new Float64Array(MAX_ROWS + 1)
  readonly #ms = new Float64Array(MAX_ROWS + 1)
  /** Reused by `#rise`. */
  readonly #below = new Float64Array(MAX_ROWS + 1)

  // hot
  /** Records that a step of `rows` rows, each with its logits, took `ms`. */
  observe(rows: number, ms: number): void {
    if (rows > MAX_ROWS || !(ms > 0)) return
    const weight = this.#weights[rows]! * FADE
    const known = this.#seen[rows]! || this.#ms[rows]! || ms
    const ratio = within(ms / known, weight < 0.5 ? FIRST_RATIO : MAX_RATIO)
    const common = 1 + COMMON_WEIGHT * (within(ratio, MAX_RATIO) - 1)
    for (let index = 1; index <= MAX_ROWS; index++) {
      this.#seen[index]! *= common
      this.#weights[index]! *= FADE
    }
    const own = this.#seen[rows]!
    const step = Math.max(OWN_WEIGHT, 1 / (weight + 1)) * (ratio - 1)
    this.#seen[rows] = own === 0 ? known * ratio : own * (1 + step)
    this.#weights[rows] = weight + 1
    this.#estimate()
  }

  /** Expected milliseconds; 0 while nothing is known. */
  ms(rows: number): number {
    if (rows <= MAX_ROWS) return this.#ms[rows]!
    return (this.#ms[MAX_ROWS]! * rows) / MAX_ROWS
  }

  /** Pulls the means towards the least-squares line, whose initial slope is given by `ROW_SHARE`. */
  #estimate(): void {
    let all = 0
    let rowSum = 0
    let msSum = 0
    let rowSquares = 0
    let products = 0
    for (let rows = 1; rows <= MAX_ROWS; rows++) {
      const weight = Math.min(this.#weights[rows]!, MAX_WEIGHT)
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
    for (let rows = 1; rows <= MAX_ROWS; rows++) {
      const line = Math.max(0, height + slope * (rows - middle))
      const weight = this.#weights[rows]!
      this.#ms[rows] = (weight * this.#seen[rows]! + LINE_WEIGHT * line) / (weight + LINE_WEIGHT)
    }
    this.#rise()
  }

  /**
   * Makes the means ascend: each becomes the average of the largest mean up to it and the smallest mean from
   * it on.
   */
  #rise(): void {
    let most = Number.POSITIVE_INFINITY
    for (let rows = MAX_ROWS; rows >= 1; rows--) {
      most = Math.min(most, this.#ms[rows]!)
      this.#below[rows] = most
    }
    let least = 0
    for (let rows = 1; rows <= MAX_ROWS; rows++) {
      least = Math.max(least, this.#ms[rows]!)
      this.#ms[rows] = (least + this.#below[rows]!) / 2
    }
  }
}

const within = (ratio: number, most: number): number => Math.min(Math.max(ratio, 1 / most), most)
