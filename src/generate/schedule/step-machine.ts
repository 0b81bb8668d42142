// Step machines. In: nothing. Out: the parts that run steps of one plan.
import type { Plan } from '../../graph/plan/plan.ts'
import type { Arena } from '../../runtime/memory/arena.ts'
import type { Pool } from '../../runtime/pool.ts'
import type { WrittenPlan } from '../../runtime/write-plan.ts'
import type { StepBuffer } from './step-buffer.ts'

/** A plan, its address in memory, and the threads that run it on the rows that `step` describes. */
export interface StepMachine {
  readonly pool: Pool
  readonly arena: Arena
  readonly plan: Plan
  readonly written: WrittenPlan
  readonly step: StepBuffer
  /** Milliseconds. */
  readonly now: () => number
}
