// Step machines. In: nothing. Out: what belongs together to run steps of one plan.
import type { Plan } from '../../graph/plan/plan.ts'
import type { Arena } from '../../runtime/arena.ts'
import type { Pool } from '../../runtime/pool.ts'
import type { WrittenPlan } from '../../runtime/write-plan.ts'
import type { StepBuffer } from './step-buffer.ts'

/** A plan, where it was written, and the threads that run it on what `step` describes. */
export interface StepMachine {
  readonly pool: Pool
  readonly arena: Arena
  readonly plan: Plan
  readonly written: WrittenPlan
  readonly step: StepBuffer
  /** Milliseconds. */
  readonly now: () => number
}
