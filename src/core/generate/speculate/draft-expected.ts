// Drafts the text that a constraint forces.
import type { ReplyConstraint } from '../../constrain/written-grammar.ts'
import { type Drafter, GRADES } from '../schedule/speculation.ts'

/** Names, quotes and colons of JSON then cost a row each instead of a whole step. */
export class ExpectedDrafter implements Drafter {
  readonly msPerDraft = 0
  readonly #constraint: Pick<ReplyConstraint, 'expectedIds'>
  #ids: readonly number[] = []

  /** `constraint` has accepted all tokens that come before the drafts. */
  constructor(constraint: Pick<ReplyConstraint, 'expectedIds'>) {
    this.#constraint = constraint
  }

  gradeAt(): number {
    return GRADES.expected
  }

  // hot
  look(): number {
    this.#ids = this.#constraint.expectedIds()
    return this.#ids.length
  }

  draft(count: number, out: Int32Array): number {
    for (let index = 0; index < count; index++) out[index] = this.#ids[index]!
    return count
  }
}
