// Decides from the times of decode steps when to measure the machine again.

/** How many row counts are tracked; larger steps are ignored. */
const MAX_ROWS = 16
/** Steps are judged by their mean over this time, because a single step is often late. */
const PERIOD_MS = 250
/** No period counts for more than this, so that a single pause does not look like a slow machine. */
const MAX_OF_PERIOD_MS = 500
/** A period whose steps take this many times their baseline is slow. */
const SLOW = 1.25
/**
 * Milliseconds of consecutive slow periods before measuring; the cause may be throttling, a background tab or
 * another program. Doubles each time that measuring changed nothing, up to `MAX_PATIENCE_MS`.
 */
const PATIENCE_MS = 1000
const MAX_PATIENCE_MS = 32_000
/** Smoothing factor of the baseline, which drifts as contexts grow. */
const DRIFT = 0.0006
/**
 * Milliseconds of decoding with fewer threads before more are tried again. The wait doubles each time this
 * does not help.
 */
const REST_MS = 30_000

/** Detects that the machine has become slower, or may have recovered, so that measurements are repeated. */
export class Slowdown {
  /** Baseline in milliseconds of a step, for each row count; 0: no period yet. */
  readonly #usual = new Float64Array(MAX_ROWS + 1)
  /** Steps with the same number of rows. */
  readonly #period = { rows: 0, steps: 0, ms: 0 }
  #slowMs = 0
  #patienceMs = PATIENCE_MS
  #hasFewer = false
  /** How long to stay with fewer threads, and how much of that time is left. */
  #restMs = 0
  #leftMs = Number.POSITIVE_INFINITY

  // hot
  /**
   * Records that a step of `rows` rows, all decoding, took `ms`. Returns true once steps have been slow for
   * too long, or fewer threads have run for a while. Then measure and call `settle`.
   */
  observe(rows: number, ms: number): boolean {
    if (rows > MAX_ROWS || !(ms > 0)) return false
    this.#leftMs -= ms
    const period = this.#period
    if (period.rows !== rows) this.#open(rows)
    period.steps++
    period.ms += ms
    if (period.ms >= PERIOD_MS) this.#judge()
    if (this.#slowMs < this.#patienceMs && this.#leftMs > 0) return false
    // Start over: the current speed becomes the new baseline.
    this.#usual.fill(0)
    this.#open(0)
    this.#slowMs = 0
    this.#leftMs = Number.POSITIVE_INFINITY
    return true
  }

  /** `hasFewer`: after measuring, the engine has fewer threads than at first. */
  settle(hasFewer: boolean): void {
    const isAsBefore = hasFewer === this.#hasFewer
    this.#hasFewer = hasFewer
    this.#patienceMs = isAsBefore ? Math.min(2 * this.#patienceMs, MAX_PATIENCE_MS) : PATIENCE_MS
    this.#restMs = hasFewer ? 2 * this.#restMs || REST_MS : 0
    this.#leftMs = this.#restMs || Number.POSITIVE_INFINITY
  }

  #open(rows: number): void {
    this.#period.rows = rows
    this.#period.steps = 0
    this.#period.ms = 0
  }

  #judge(): void {
    const { rows, steps, ms } = this.#period
    const mean = ms / steps
    const usual = this.#usual[rows]!
    if (usual > 0 && mean > SLOW * usual) {
      this.#slowMs += Math.min(ms, MAX_OF_PERIOD_MS)
    } else {
      this.#usual[rows] = usual === 0 ? mean : Math.min(mean, usual * (1 + DRIFT) ** steps)
      this.#slowMs = 0
    }
    this.#open(rows)
  }
}
