// Drafts tokens for the next step, as many as pay off.

import type { StepCost } from './step-cost.ts'
import type { BareStep } from './work.ts'

/**
 * Drafts of one grade are equally certain. The first grade of each kind; a kind's grades follow one another,
 * and higher ones are more certain.
 */
export const GRADES = {
  /** By the length of the match. */
  lookup: 0,
  /** By the number of tokens that match since the copy was resumed. */
  resumed: 6,
  /** Text that a constraint forces. */
  expected: 9,
  model: 10,
} as const
/**
 * For each grade, how often drafts are right, over replies of all kinds (lab/measurements/scheduler.md).
 */
const FIRST_RATES = [0.45, 0.67, 0.86, 0.86, 0.94, 0.99, 0.24, 0.68, 0.87, 0.94, 0.5] as const
/** How many outcomes in a reply weigh as much as these rates. */
const PRIOR_WEIGHT = 2
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

/** A number of drafts, and the tokens per millisecond that a step with them is predicted to give. */
interface Choice {
  count: number
  perMs: number
}

/**
 * Learns how often drafts of each grade are right in one reply, and weighs the steps that they save against
 * the cost of their rows.
 */
export class DraftLength {
  readonly #rates = Float64Array.from(FIRST_RATES)
  readonly #counts = new Float64Array(FIRST_RATES.length)

  /** Records whether a draft was right. All earlier drafts in its step were. */
  observe(grade: number, isRight: boolean): void {
    const weight = Math.max(LEAST_WEIGHT, 1 / (++this.#counts[grade]! + PRIOR_WEIGHT))
    this.#rates[grade]! += weight * ((isRight ? 1 : 0) - this.#rates[grade]!)
  }

  // hot
  /**
   * Writes to `choice` the number of drafts, from 0 to `most`, that gives the most tokens per millisecond:
   * (tokens without + r1 + r1 r2 + ...) / (step(rows + n lanes) + n msPerDraft), where ri is how often
   * drafts like the i-th are right. Leaves `choice` as it is unless this is better by `LEAST_GAIN`.
   */
  improve(
    choice: Choice,
    most: number,
    drafter: Pick<Drafter, 'gradeAt'>,
    step: BareStep,
    draft: DraftCost,
    cost: StepCost,
  ): boolean {
    let { tokens } = step
    let best = choice.perMs * (1 + LEAST_GAIN)
    let chance = 1
    let isBetter = false
    for (let count = 1; count <= most; count++) {
      chance *= this.#rates[drafter.gradeAt(count - 1)]!
      tokens += chance
      const perMs = tokens / (cost.ms(step.rows + count * draft.lanes) + count * draft.msPerDraft)
      if (!(perMs > best)) continue
      choice.count = count
      choice.perMs = best = perMs
      isBetter = true
    }
    return isBetter
  }
}

/** Predicts the next tokens. It may be wrong, but it must be fast. */
export interface Drafter {
  /** Milliseconds per draft; 0 if negligible compared with a step. */
  readonly msPerDraft: number
  /**
   * Reads all tokens so far; they have only grown since the last call. Returns how many drafts it could make.
   */
  look(tokens: readonly number[]): number
  /** The grade of the draft at `index`, of those that `look` found. */
  gradeAt(index: number): number
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

/** One drafter and what it drafted for the step. */
interface Candidate {
  readonly drafter: Drafter
  readonly ids: Int32Array
  /** Number of drafts in `ids`. */
  made: number
}

/** The drafts of one generation. In each step, those of the drafter that promises most are verified. */
export class Speculation {
  /** The drafts to verify. */
  readonly ids = new Int32Array(MAX_DRAFTS)
  /** Number of drafts that steps verified, and of drafts that were right. */
  drafted = 0
  accepted = 0
  readonly #candidates: readonly Candidate[]
  readonly #stopTokens: ReadonlySet<number> | undefined
  readonly #length = new DraftLength()
  readonly #each = { lanes: 1, msPerDraft: 0 }
  readonly #choice: Choice = { count: 0, perMs: 0 }
  #idle = 0
  #patience = FIRST_PATIENCE

  /** `drafters`: those whose drafts cost time come last. */
  constructor(drafters: readonly Drafter[], stopTokens: ReadonlySet<number> | undefined) {
    this.#candidates = drafters.map((drafter) => ({ drafter, ids: new Int32Array(MAX_DRAFTS), made: 0 }))
    this.#stopTokens = stopTokens
  }

  // hot
  /** Drafts to verify after `tokens`, at most `most`. Each adds `lanes` rows to those of `step`. */
  draft(tokens: readonly number[], most: number, lanes: number, step: BareStep, cost: StepCost): number {
    const choice = this.#choice
    choice.count = 0
    choice.perMs = step.tokens / cost.ms(step.rows)
    this.#each.lanes = lanes
    for (let index = 0; index < this.#candidates.length; index++) {
      const candidate = this.#candidates[index]!
      candidate.made = 0
      if (candidate.drafter.msPerDraft > 0) this.#draftAtCost(candidate, tokens, most, step, cost)
      else this.#draftFreely(candidate, tokens, most, step, cost)
    }
    return this.#untilEnd(choice.count)
  }

  /** Records that `picked` tokens were added to `tokens` since `draft` returned `drafted`. */
  observe(tokens: readonly number[], picked: number, drafted: number): void {
    const first = tokens.length - picked
    for (let index = 0; index < this.#candidates.length; index++) {
      const right = this.#compare(this.#candidates[index]!, tokens, first)
      if (right > 0 && this.#candidates[index]!.drafter.msPerDraft > 0) this.#patience = FIRST_PATIENCE
    }
    let right = 0
    while (right < Math.min(drafted, picked) && tokens[first + right] === this.ids[right]) right++
    this.drafted += drafted
    this.accepted += right
  }

  /**
   * Drafts that cost nothing are always made, because comparing them shows when they become worth their rows.
   */
  #draftFreely(
    candidate: Candidate,
    tokens: readonly number[],
    most: number,
    step: BareStep,
    cost: StepCost,
  ): void {
    const { drafter, ids } = candidate
    const found = Math.min(drafter.look(tokens), MAX_DRAFTS)
    if (found === 0) return
    candidate.made = drafter.draft(found, ids)
    this.#each.msPerDraft = 0
    const count = Math.min(candidate.made, most)
    if (this.#length.improve(this.#choice, count, drafter, step, this.#each, cost)) this.ids.set(ids)
  }

  /**
   * Drafts that cost time are made only if they promise more than the others, or are due to be tried again.
   */
  #draftAtCost(
    candidate: Candidate,
    tokens: readonly number[],
    most: number,
    step: BareStep,
    cost: StepCost,
  ): void {
    const { drafter, ids } = candidate
    const choice = this.#choice
    const before = choice.count
    this.#each.msPerDraft = drafter.msPerDraft
    const wanted = Math.min(most, MAX_DRAFTS)
    if (!this.#length.improve(choice, wanted, drafter, step, this.#each, cost)) {
      if (before > 0 || most === 0 || ++this.#idle < this.#patience) return
      this.#idle = 0
      this.#patience = Math.min(2 * this.#patience, MAX_PATIENCE)
      choice.count = 1
    }
    const found = Math.min(drafter.look(tokens), choice.count)
    candidate.made = found > 0 ? drafter.draft(found, ids) : 0
    choice.count = candidate.made > 0 ? candidate.made : before
    if (candidate.made > 0) this.ids.set(ids)
  }

  /** Learns how many drafts equal the tokens from `first` on, and returns their number. */
  #compare(candidate: Candidate, tokens: readonly number[], first: number): number {
    const { drafter, ids, made } = candidate
    let right = 0
    while (right < made && first + right < tokens.length) {
      const isRight = tokens[first + right] === ids[right]
      this.#length.observe(drafter.gradeAt(right), isRight)
      if (!isRight) break
      right++
    }
    candidate.made = 0
    return right
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
