// Runs one small step to measure its time.
import type { AsyncPool, Pool } from '../runtime/pool.ts'
import type { WrittenPlan } from '../runtime/write-plan.ts'
import { SequenceState } from '../state/sequence-state.ts'
import type { StateCache } from '../state/state-cache.ts'
import type { StepBuffer } from './schedule/step-buffer.ts'

/**
 * Runs token 0 as the first `rows` of a new sequence and discards the result. This warms up caches and code,
 * and is used to time threads. Logits are computed for the last row only. Throws the errors of `reserve` and
 * `run`.
 */
export function probeStep(
  pool: Pool,
  written: WrittenPlan,
  step: StepBuffer,
  cache: StateCache,
  rows = 1,
): void {
  const state = describeFirst(step, cache, rows)
  try {
    pool.run(written.records, step.step, 0, written.count)
  } finally {
    state.release()
  }
}

/** Like `probeStep`, for shards, whose steps are asynchronous. */
export async function warmStep(
  pool: AsyncPool,
  written: WrittenPlan,
  step: StepBuffer,
  cache: StateCache,
): Promise<void> {
  const state = describeFirst(step, cache, 1)
  try {
    await pool.run(written.records, step.step, 0, written.count)
  } finally {
    state.release()
  }
}

/**
 * Describes a step with token 0 as the first `rows` of a sequence. Returns its state; the caller must release
 * it.
 */
function describeFirst(step: StepBuffer, cache: StateCache, rows: number): SequenceState {
  const state = new SequenceState(cache)
  try {
    state.reserve(rows)
  } catch (error) {
    state.release()
    throw error
  }
  step.begin()
  step.addSequence(state)
  for (let row = 0; row < rows; row++) step.addToken(0, row === rows - 1)
  step.finish()
  return state
}
