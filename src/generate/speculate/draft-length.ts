// Draft length. In: which drafts were right so far, what steps cost. Out: how many drafts the next step should try.
import type { StepCost } from '../schedule/step-cost.ts'
import type { BareStep } from '../schedule/work.ts'

/** Kinds of drafts that are told apart by how sure they are, 0 to this less 1. */
export const GRADES = 5
/** Before anything is known a draft is as likely right as wrong. */
const FIRST_RATE = 0.5
/** Least weight of a new outcome: about the last twenty count. */
const LEAST_WEIGHT = 0.05
/** A draft must promise this much more than none, or noise in the times decides. */
const LEAST_GAIN = 0.02

/** What one more draft adds. */
export interface DraftCost {
  /** Rows of the step. */
  readonly lanes: number
  /** Time to make it up. */
  readonly msPerDraft: number
}

/** Learns how often drafts of each grade are right, and weighs what they save against what their rows cost. */
export class DraftLength {
  readonly #rates = new Float64Array(GRADES).fill(FIRST_RATE)
  readonly #counts = new Float64Array(GRADES)

  /** A draft behind right ones turned out right or wrong. */
  observe(grade: number, isRight: boolean): void {
    const count = ++this.#counts[grade]!
    const weight = Math.max(LEAST_WEIGHT, 1 / (count + 1))
    this.#rates[grade]! += weight * ((isRight ? 1 : 0) - this.#rates[grade]!)
  }

  /**
   * The number of drafts, 0 to `most`, with the most tokens per millisecond:
   * (tokens without + r + r^2 + ... + r^n) / (step(rows + n lanes) + n msPerDraft), r: how often one is right.
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
