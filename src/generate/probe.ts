// Probe. In: a pool, a plan with its weights, an empty place in the state cache. Out: one decode step, run for its time.
import type { Pool } from '../runtime/pool.ts'
import type { WrittenPlan } from '../runtime/write-plan.ts'
import { SequenceState } from '../state/sequence-state.ts'
import type { StateCache } from '../state/state-cache.ts'
import type { StepBuffer } from './step-buffer.ts'

/**
 * Runs token 0 as the first of a new sequence and forgets it: warms caches and code, and measures threads.
 * Throws what `reserve` and `run` throw.
 */
export function probeStep(pool: Pool, written: WrittenPlan, step: StepBuffer, cache: StateCache): void {
  const state = new SequenceState(cache)
  try {
    state.reserve(1)
    step.begin()
    step.addSequence(state)
    step.addToken(0, true)
    step.finish()
    pool.run(written.records, step.step, 0, written.count)
  } finally {
    state.release()
  }
}
