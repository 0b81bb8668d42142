// Slowdown. In: how long decode steps took, what measuring anew led to. Out: when the machine is to be measured anew.

/** Row counts that are told apart; larger steps say nothing. */
const MOST_ROWS = 16
/** A step that takes so many times as long as usual is slow. */
const SLOW = 1.5
/** Milliseconds of slow steps without a usual one between them: throttling, a background tab, another program. */
const PATIENCE_MS = 3000
/** What is usual follows slower steps by this share each: contexts grow. */
const DRIFT = 0.002
/** Milliseconds of decoding on fewer threads before more are tried again; each time that does not pay the next wait is twice as long. */
const REST_MS = 30_000

/** Notices that the machine has become slower, or may be well again, so that what was measured on it is measured again. */
export class Slowdown {
  /** Milliseconds by row count; 0: never seen. */
  readonly #usual = new Float64Array(MOST_ROWS + 1)
  #slowMs = 0
  /** How long fewer threads are left alone, and how much of that is left. */
  #restMs = 0
  #leftMs = Number.POSITIVE_INFINITY

  // hot
  /**
   * A step of `rows` rows, all of which decode, took `ms`. True once when steps have been slow for too long, or fewer
   * threads have worked for a while: then measure, and tell `settle`.
   */
  observe(rows: number, ms: number): boolean {
    if (rows > MOST_ROWS || !(ms > 0)) return false
    const usual = this.#usual[rows]!
    this.#usual[rows] = usual === 0 ? ms : Math.min(ms, usual * (1 + DRIFT))
    this.#slowMs = usual > 0 && ms > SLOW * usual ? this.#slowMs + ms : 0
    this.#leftMs -= ms
    if (this.#slowMs < PATIENCE_MS && this.#leftMs > 0) return false
    // From now on this is usual.
    this.#usual.fill(0)
    this.#slowMs = 0
    this.#leftMs = Number.POSITIVE_INFINITY
    return true
  }

  /** `hasFewer`: measuring has left the engine with fewer threads than it had. */
  settle(hasFewer: boolean): void {
    this.#restMs = hasFewer ? 2 * this.#restMs || REST_MS : 0
    this.#leftMs = this.#restMs || Number.POSITIVE_INFINITY
  }
}
