// Speculation. In: a drafter, the tokens that were picked. Out: drafts for the next step, as many as are worth their rows.

import type { StepCost } from '../schedule/step-cost.ts'
import type { BareStep } from '../schedule/work.ts'
import { DraftLength } from './draft-length.ts'

/** Makes up what may come next. It may be wrong; it must be quick. */
export interface Drafter {
  /** Milliseconds per draft; 0 when that is nothing beside a step. */
  readonly msPerDraft: number
  /** How sure the drafts are that `look` found, 0 to GRADES - 1. */
  readonly grade: number
  /** Looks at all tokens so far, which have only grown since. Returns how many drafts it could make. */
  look(tokens: readonly number[]): number
  /** Writes up to `count` drafts behind the tokens that it looked at; returns how many. */
  draft(count: number, out: Int32Array): number
}

/** Most drafts of a step. */
export const MOST_DRAFTS = 15
/** Where drafts cost time and never pay, one is tried again after this many tokens, then twice as many, up to the most. */
const FIRST_PATIENCE = 4
const MOST_PATIENCE = 64

/** The drafts of one generation. */
export class Speculation {
  /** The drafts; those behind what `draft` returned are only compared. */
  readonly ids = new Int32Array(MOST_DRAFTS)
  /** Drafts that steps carried, and those of them that were right. */
  drafted = 0
  accepted = 0
  readonly #drafter: Drafter
  readonly #stopTokens: ReadonlySet<number> | undefined
  readonly #length = new DraftLength()
  readonly #each = { lanes: 1, msPerDraft: 0 }
  /** Drafts in `ids`. */
  #made = 0
  #idle = 0
  #patience = FIRST_PATIENCE

  constructor(drafter: Drafter, stopTokens: ReadonlySet<number> | undefined) {
    this.#drafter = drafter
    this.#stopTokens = stopTokens
  }

  // hot
  /** Drafts to verify behind `tokens`, at most `most`, each in `lanes` rows beside those of `step`. */
  draft(tokens: readonly number[], most: number, lanes: number, step: BareStep, cost: StepCost): number {
    const drafter = this.#drafter
    this.#made = 0
    const found = Math.min(drafter.look(tokens), MOST_DRAFTS)
    const each = this.#each
    each.lanes = lanes
    each.msPerDraft = drafter.msPerDraft
    let count = this.#length.choose(Math.min(found, most), drafter.grade, step, each, cost)
    if (count === 0 && drafter.msPerDraft > 0) {
      if (most === 0 || found === 0 || ++this.#idle < this.#patience) return 0
      this.#idle = 0
      this.#patience = Math.min(2 * this.#patience, MOST_PATIENCE)
      count = 1
    }
    // Drafts that cost nothing are made in any case: comparing them tells when they are worth their rows.
    this.#made = drafter.draft(drafter.msPerDraft > 0 ? count : found, this.ids)
    return this.#untilEnd(Math.min(count, this.#made))
  }

  /** `picked` tokens were added to `tokens` since `draft`, whose result was `drafted`. */
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

  /** What follows an end is never read. */
  #untilEnd(count: number): number {
    if (this.#stopTokens === undefined) return count
    for (let index = 0; index < count; index++) {
      if (this.#stopTokens.has(this.ids[index]!)) return index + 1
    }
    return count
  }
}
