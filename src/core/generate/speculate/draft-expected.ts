// Drafts the text that a constraint forces, and otherwise uses another drafter.
import type { ReplyConstraint } from '../../constrain/written-grammar.ts'
import { type Drafter, EXPECTED_GRADE } from '../schedule/speculation.ts'

/**
 * From this grade on, a match is the better guide: it also predicts values that the constraint leaves open.
 */
const SURE_GRADE = 3

/** Names, quotes and colons of JSON then cost a row each instead of a whole step. */
export class ExpectedDrafter implements Drafter {
  readonly #constraint: Pick<ReplyConstraint, 'expectedIds'>
  readonly #other: Drafter
  /** Empty while the other drafter is used. */
  #ids: readonly number[] = []

  /** `constraint` has accepted all tokens that come before the drafts. */
  constructor(constraint: Pick<ReplyConstraint, 'expectedIds'>, other: Drafter) {
    this.#constraint = constraint
    this.#other = other
  }

  get msPerDraft(): number {
    return this.#ids.length > 0 ? 0 : this.#other.msPerDraft
  }

  get grade(): number {
    return this.#ids.length > 0 ? EXPECTED_GRADE : this.#other.grade
  }

  // hot
  look(tokens: readonly number[]): number {
    const found = this.#other.look(tokens)
    const isSure = found > 0 && this.#other.msPerDraft === 0 && this.#other.grade >= SURE_GRADE
    this.#ids = isSure ? [] : this.#constraint.expectedIds()
    return this.#ids.length > 0 ? this.#ids.length : found
  }

  draft(count: number, out: Int32Array): number {
    if (this.#ids.length === 0) return this.#other.draft(count, out)
    for (let index = 0; index < count; index++) out[index] = this.#ids[index]!
    return count
  }
}
