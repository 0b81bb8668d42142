// Draft length. In: which drafts were right so far, the cost of steps. Out: how many drafts the next step
// should try.
import type { StepCost } from '../schedule/step-cost.ts'
import type { BareStep } from '../schedule/work.ts'

/** Number of grades: drafts are graded by certainty, from 0 to this minus 1. */
export const GRADES = 5
/** Initial probability that a draft is right. */
const FIRST_RATE = 0.5
/** Least weight of a new outcome, so about the last twenty count. */
const LEAST_WEIGHT = 0.05
/** Drafts must promise this much more than none; otherwise noise in the times decides. */
const LEAST_GAIN = 0.02

/** The cost of one more draft. */
export interface DraftCost {
  /** Rows that it adds to the step. */
  readonly lanes: number
  /** Milliseconds to make the draft. */
  readonly msPerDraft: number
}

/**
 * Learns how often drafts of each grade are right, and weighs the steps they save against the cost of their
 * rows.
 */
export class DraftLength {
  readonly #rates = new Float64Array(GRADES).fill(FIRST_RATE)
  readonly #counts = new Float64Array(GRADES)

  /** Records whether a draft was right. All drafts before it in its step were. */
  observe(grade: number, isRight: boolean): void {
    const count = ++this.#counts[grade]!
    const weight = Math.max(LEAST_WEIGHT, 1 / (count + 1))
    this.#rates[grade]! += weight * ((isRight ? 1 : 0) - this.#rates[grade]!)
  }

  /**
   * The number of drafts, from 0 to `most`, with the most tokens per millisecond:
   * (tokens without + r + r^2 + ... + r^n) / (step(rows + n lanes) + n msPerDraft), where r is how often a
   * draft is right.
   */
  choose(most: number, grade: number, step: BareStep, draft: DraftCost, cost: StepCost): number {
    const rate = this.#rates[grade]!
    let { tokens } = step
    let best = 0
    let bestRate = (tokens / cost.ms(step.rows)) * (1 + LEAST_GAIN)
    let chance = 1
    for (let count = 1; count <= most; count++) {
      chance *= rate
      tokens += chance
      const perMs = tokens / (cost.ms(step.rows + count * draft.lanes) + count * draft.msPerDraft)
      if (!(perMs > bestRate)) continue
      best = count
      bestRate = perMs
    }
    return best
  }
}
