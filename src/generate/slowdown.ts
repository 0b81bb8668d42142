// Slowdown. In: how long decode steps took. Out: whether they have been slower than usual for seconds.

/** Row counts that are told apart; larger steps say nothing. */
const MOST_ROWS = 16
/** A step that takes so many times as long as usual is slow. */
const SLOW = 1.5
/** Milliseconds of slow steps without a usual one between them: throttling, a background tab, another program. */
const PATIENCE_MS = 3000
/** What is usual follows slower steps by this share each: contexts grow. */
const DRIFT = 0.002

/** Notices that the machine has become slower, so that what was measured on it is measured again. */
export class Slowdown {
  /** Milliseconds by row count; 0: never seen. */
  readonly #usual = new Float64Array(MOST_ROWS + 1)
  #slowMs = 0

  // hot
  /** A step of `rows` rows, all of which decode, took `ms`. True once when steps have been slow for too long. */
  observe(rows: number, ms: number): boolean {
    if (rows > MOST_ROWS || !(ms > 0)) return false
    const usual = this.#usual[rows]!
    this.#usual[rows] = usual === 0 ? ms : Math.min(ms, usual * (1 + DRIFT))
    this.#slowMs = usual > 0 && ms > SLOW * usual ? this.#slowMs + ms : 0
    if (this.#slowMs < PATIENCE_MS) return false
    // From now on this is usual.
    this.#usual.fill(0)
    this.#slowMs = 0
    return true
  }
}
