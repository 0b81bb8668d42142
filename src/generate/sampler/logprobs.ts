// Log-probabilities. In: a row as the model made it, and the id that was picked. Out: how likely that was, and what was likelier.
import type { LogitRows } from './rows.ts'

/**
 * Natural logarithms of the model's own probabilities: softmax of the raw row, before guidance, masks, penalties,
 * cuts and temperature. All fields speak of the last row.
 */
export class LogProbabilities {
  /** The likeliest ids, best first; `count` of them. */
  readonly ids: Uint32Array
  readonly logprobs: Float32Array
  count = 0
  readonly #rows: LogitRows
  #raw: Float32Array = new Float32Array()
  /** Logarithm of the sum of e^logit. */
  #normaliser = 0

  /** `top`: how many of the likeliest are wanted, 0 or more. Throws `out-of-memory`. */
  constructor(rows: LogitRows, top: number) {
    this.#rows = rows
    this.ids = new Uint32Array(Math.min(top, rows.vocab))
    this.logprobs = new Float32Array(this.ids.length)
    rows.reserve(top, true)
  }

  // hot
  /** Looks at a row that nobody has changed. Throws `integrity` on NaN or +Infinity. */
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

  /** That of any id, an f32: engines differ in the last bits of the f64 logarithm. */
  of(id: number): number {
    return Math.fround((this.#raw[id] as number) - this.#normaliser)
  }
}
