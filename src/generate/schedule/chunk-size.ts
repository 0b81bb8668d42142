// Chunk size. In: times of past steps. Out: how many rows of prefill the next step may have.

/** Milliseconds that a step may keep aborts and other sequences waiting. */
export const CHUNK_MS = 100
const FIRST_ROWS = 32
const LEAST_ROWS = 8
/** If shards exchange rows in each layer, steps of this many rows are worth twice the time. */
const LEAST_SHARED_OUT = 16
/** Share of the limit to aim for, because steps get slower as a context fills. */
const SAFETY = 0.85
/** Steps with fewer rows say little about large ones. */
const MOST_GROWTH = 4

/** Adapts the rows of a prefill step so that a step takes at most about `CHUNK_MS` ms. */
export class ChunkSize {
  readonly #most: number
  readonly #least: number
  #rows: number

  /**
   * `most`: rows that a step of the plan may have. `isSharedOut`: every step has exchanges, even a small one.
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
    const wanted = Math.min(fitting, MOST_GROWTH * Math.max(rows, this.#rows))
    const worth = Math.max(wanted, Math.min(this.#least, 2 * fitting))
    const whole = Math.floor(worth / LEAST_ROWS) * LEAST_ROWS
    this.#rows = Math.min(this.#most, Math.max(LEAST_ROWS, whole))
  }
}
