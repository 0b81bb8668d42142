// Log-probabilities. In: the model's own row and the chosen id. Out: its log-probability, and the most likely
// ids with theirs.
import type { LogitRows } from './rows.ts'

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
  /** Reads a row before anything has changed it. Throws `integrity` on NaN or +Infinity. */
  observe(row: Float32Array): void {
    const rows = this.#rows
    this.#raw = rows.keep(row)
    const count = rows.top(row, Math.max(1, this.ids.length), Number.NEGATIVE_INFINITY)
    const best = rows.logits[0] as number
    this.#normaliser = best + Math.log(rows.sumExp(row, best, 1, Number.NEGATIVE_INFINITY))
    this.count = Math.min(count, this.ids.length)
    for (let index = 0; index < this.count; index++) {
      this.ids[index] = rows.ids[index] as number
      this.logprobs[index] = (rows.logits[index] as number) - this.#normaliser
    }
  }

  /**
   * The log-probability of any id, rounded to f32, because engines differ in the last bits of the f64
   * logarithm.
   */
  of(id: number): number {
    return Math.fround((this.#raw[id] as number) - this.#normaliser)
  }
}
