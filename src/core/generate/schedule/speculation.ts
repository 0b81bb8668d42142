// Drafts tokens for the next step, as many as pay off.

import type { StepCost } from './step-cost.ts'
import type { BareStep } from './work.ts'

/** Number of grades. A draft's grade, from 0 to GRADES - 1, says how certain it is. */
const GRADES = 6
/** The grade of drafts that a constraint forces. */
export const EXPECTED_GRADE = GRADES - 1
/**
 * Initial estimates of the probability that a draft is right: for any draft, and for one of `EXPECTED_GRADE`.
 */
const FIRST_RATE = 0.5
const FIRST_EXPECTED_RATE = 0.7
/** Minimum weight of a new outcome, so that roughly the last twenty count. */
const LEAST_WEIGHT = 0.05
/** Minimum predicted speedup over a step without drafts. Below it, timing noise would decide. */
const LEAST_GAIN = 0.02

/** The cost of one more draft. */
interface DraftCost {
  /** Rows that the draft adds to the step. */
  readonly lanes: number
  /** Milliseconds to make the draft. */
  readonly msPerDraft: number
}

/**
 * Learns how often drafts of each grade are right, and weighs the steps that they save against the cost of
 * their rows.
 */
export class DraftLength {
  readonly #rates = new Float64Array(GRADES).fill(FIRST_RATE)
  readonly #counts = new Float64Array(GRADES)

  constructor() {
    this.#rates[EXPECTED_GRADE] = FIRST_EXPECTED_RATE
  }

  /** Records whether a draft was right. All earlier drafts in its step were. */
  observe(grade: number, isRight: boolean): void {
    const count = ++this.#counts[grade]!
    const weight = Math.max(LEAST_WEIGHT, 1 / (count + 1))
    this.#rates[grade]! += weight * ((isRight ? 1 : 0) - this.#rates[grade]!)
  }

  /**
   * The number of drafts, from 0 to `most`, that gives the most tokens per millisecond: (tokens without + r +
   * r^2 + ... + r^n) / (step(rows + n lanes) + n msPerDraft), where r is how often a draft is right.
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

/** Predicts the next tokens. It may be wrong, but it must be fast. */
export interface Drafter {
  /** Milliseconds per draft; 0 if negligible compared with a step. */
  readonly msPerDraft: number
  /** Certainty of the drafts that `look` found, from 0 to GRADES - 1. */
  readonly grade: number
  /**
   * Reads all tokens so far; they have only grown since the last call. Returns how many drafts it could make.
   */
  look(tokens: readonly number[]): number
  /** Writes up to `count` drafts that continue the tokens it has read. Returns their number. */
  draft(count: number, out: Int32Array): number
}

/** Maximum number of drafts in one step. */
export const MAX_DRAFTS = 15
/**
 * If drafts cost time and never help, one is tried again after this many tokens, then after twice as many,
 * and so on up to the maximum.
 */
const FIRST_PATIENCE = 4
const MAX_PATIENCE = 64

/** The drafts of one generation. */
export class Speculation {
  /** The drafts. Those beyond the count that `draft` returned are not run, only compared with the reply. */
  readonly ids = new Int32Array(MAX_DRAFTS)
  /** Number of drafts that steps verified, and of drafts that were right. */
  drafted = 0
  accepted = 0
  readonly #drafter: Drafter
  readonly #stopTokens: ReadonlySet<number> | undefined
  readonly #length = new DraftLength()
  readonly #each = { lanes: 1, msPerDraft: 0 }
  /** Number of drafts in `ids`. */
  #made = 0
  #idle = 0
  #patience = FIRST_PATIENCE

  constructor(drafter: Drafter, stopTokens: ReadonlySet<number> | undefined) {
    this.#drafter = drafter
    this.#stopTokens = stopTokens
  }

  // hot
  /** Drafts to verify after `tokens`, at most `most`. Each adds `lanes` rows to those of `step`. */
  draft(tokens: readonly number[], most: number, lanes: number, step: BareStep, cost: StepCost): number {
    const drafter = this.#drafter
    this.#made = 0
    const found = Math.min(drafter.look(tokens), MAX_DRAFTS)
    const each = this.#each
    each.lanes = lanes
    each.msPerDraft = drafter.msPerDraft
    let count = this.#length.choose(Math.min(found, most), drafter.grade, step, each, cost)
    if (count === 0 && drafter.msPerDraft > 0) {
      if (most === 0 || found === 0 || ++this.#idle < this.#patience) return 0
      this.#idle = 0
      this.#patience = Math.min(2 * this.#patience, MAX_PATIENCE)
      count = 1
    }
    // Drafts that cost nothing are always made, because comparing them shows when they become worth their
    // rows.
    this.#made = drafter.draft(drafter.msPerDraft > 0 ? count : found, this.ids)
    return this.#untilEnd(Math.min(count, this.#made))
  }

  /** Records that `picked` tokens were added to `tokens` since `draft` returned `drafted`. */
  observe(tokens: readonly number[], picked: number, drafted: number): void {
    const { grade } = this.#drafter
    const first = tokens.length - picked
    let right = 0
    while (right < picked && right < this.#made) {
      const isRight = tokens[first + right] === this.ids[right]
      this.#length.observe(grade, isRight)
      if (!isRight) break
      right++
    }
    this.#made = 0
    this.drafted += drafted
    this.accepted += Math.min(right, drafted)
    if (right > 0) this.#patience = FIRST_PATIENCE
  }

  /** Tokens after an end token are never read. */
  #untilEnd(count: number): number {
    if (this.#stopTokens === undefined) return count
    for (let index = 0; index < count; index++) {
      if (this.#stopTokens.has(this.ids[index]!)) return index + 1
    }
    return count
  }
}
