// Slowdown. In: times of decode steps, results of measuring again. Out: when to measure the machine again.

/** Number of row counts that are tracked; larger steps are ignored. */
const MOST_ROWS = 16
/** A step that takes this many times as long as usual is slow. */
const SLOW = 1.5
/**
 * Milliseconds of slow steps without a usual one in between: throttling, a background tab, another program.
 */
const PATIENCE_MS = 3000
/** Share by which slower steps move the usual time, because contexts grow. */
const DRIFT = 0.002
/**
 * Milliseconds of decoding on fewer threads before more are tried again. The wait doubles each time that this
 * does not help.
 */
const REST_MS = 30_000

/** Notices that the machine has become slower, or may have recovered, so that measurements are repeated. */
export class Slowdown {
  /** Usual milliseconds for each row count; 0: no step yet. */
  readonly #usual = new Float64Array(MOST_ROWS + 1)
  #slowMs = 0
  /** How long to stay with fewer threads, and how much of that time is left. */
  #restMs = 0
  #leftMs = Number.POSITIVE_INFINITY

  // hot
  /**
   * Records that a step of `rows` rows, all decoding, took `ms`. Returns true once when steps have been slow
   * for too long, or when fewer threads have run for a while. Then measure and call `settle`.
   */
  observe(rows: number, ms: number): boolean {
    if (rows > MOST_ROWS || !(ms > 0)) return false
    const usual = this.#usual[rows]!
    this.#usual[rows] = usual === 0 ? ms : Math.min(ms, usual * (1 + DRIFT))
    this.#slowMs = usual > 0 && ms > SLOW * usual ? this.#slowMs + ms : 0
    this.#leftMs -= ms
    if (this.#slowMs < PATIENCE_MS && this.#leftMs > 0) return false
    // From now on this time is usual.
    this.#usual.fill(0)
    this.#slowMs = 0
    this.#leftMs = Number.POSITIVE_INFINITY
    return true
  }

  /** `hasFewer`: measuring left the engine with fewer threads than before. */
  settle(hasFewer: boolean): void {
    this.#restMs = hasFewer ? 2 * this.#restMs || REST_MS : 0
    this.#leftMs = this.#restMs || Number.POSITIVE_INFINITY
  }
}
