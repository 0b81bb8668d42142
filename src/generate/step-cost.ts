// Step cost. In: how long decode steps of so many rows took. Out: what a step of any number of rows would take.

/** Row counts that are told apart. */
const MOST_ROWS = 64
/** A row that was never tried is taken to cost this share of the first: little, so that it is tried. */
const ROW_SHARE = 0.1
/** How much a new time moves what is known of its own row count, and of all others: heat and long contexts slow all of them. */
const OWN_WEIGHT = 0.25
const COMMON_WEIGHT = 0.1
/** A single time says at most this many times what was known: pages freeze and collectors run. */
const MOST_RATIO = 2

/** Learns the time of steps whose rows all decode. Never falls as rows are added. */
export class StepCost {
  /** By row count; 0: never seen. */
  readonly #seen = new Float64Array(MOST_ROWS + 1)
  readonly #ms = new Float64Array(MOST_ROWS + 1)

  /** A step of `rows` rows, each with its logits, took `ms`. */
  observe(rows: number, ms: number): void {
    if (rows > MOST_ROWS || !(ms > 0)) return
    const known = this.#seen[rows]! || this.#ms[rows]!
    const ratio = known > 0 ? Math.min(Math.max(ms / known, 1 / MOST_RATIO), MOST_RATIO) : 1
    const common = 1 + COMMON_WEIGHT * (ratio - 1)
    for (let index = 1; index <= MOST_ROWS; index++) this.#seen[index]! *= common
    const own = this.#seen[rows]!
    this.#seen[rows] = own === 0 ? (known > 0 ? known * ratio : ms) : own * (1 + OWN_WEIGHT * (ratio - 1))
    this.#estimate()
  }

  /** Milliseconds; 0 while nothing is known. */
  ms(rows: number): number {
    if (rows <= MOST_ROWS) return this.#ms[rows]!
    return (this.#ms[MOST_ROWS]! * rows) / MOST_ROWS
  }

  /** Fills in what was not seen: a line between two that were, a gentle slope behind the last. */
  #estimate(): void {
    const seen = this.#seen
    let last = 0
    for (let rows = 1; rows <= MOST_ROWS; rows++) {
      if (seen[rows] === 0) continue
      this.#fill(last, rows)
      last = rows
    }
    const first = seen[last]! / (1 + ROW_SHARE * (last - 1))
    for (let rows = last + 1; rows <= MOST_ROWS; rows++) {
      this.#ms[rows] = seen[last]! + ROW_SHARE * first * (rows - last)
    }
    for (let rows = MOST_ROWS - 1; rows >= 1; rows--) {
      this.#ms[rows] = Math.min(this.#ms[rows]!, this.#ms[rows + 1]!)
    }
  }

  /** From `from`, 0 for the beginning, to `to`, both seen. */
  #fill(from: number, to: number): void {
    const end = this.#seen[to]!
    const first = end / (1 + ROW_SHARE * (to - 1))
    for (let rows = from + 1; rows <= to; rows++) {
      const start = this.#seen[from]!
      this.#ms[rows] =
        from === 0
          ? first * (1 + ROW_SHARE * (rows - 1))
          : start + ((end - start) * (rows - from)) / (to - from)
    }
  }
}
