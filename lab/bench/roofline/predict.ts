// Predicts a step's time on several threads from its ops' times on one; scaling.ts has the model.

import { spread } from '../spread.ts'
import { readBandwidth } from './analyse.ts'
import type { Limits } from './limits.ts'
import type { TimedStep } from './steps.ts'

export interface Prediction {
  /** Milliseconds if more threads than were measured get no more bandwidth. */
  readonly full: number
  /** Milliseconds if bandwidth grows with the threads. */
  readonly grown: number
  /** Milliseconds of `grown` in which threads have no tile left, and of its barriers. */
  readonly parts: { readonly uneven: number; readonly barriers: number }
}

interface PredictOptions {
  /** Microseconds of a barrier of two threads. */
  readonly barrierUs: number
  /** GB/s of the largest measured number of threads. Default: as measured. */
  readonly bandwidth?: number | undefined
  /** Which of an op's samples counts. */
  readonly sample: 'median' | 'min'
}

/** `step` must have been timed on one thread. Throws if `limits` has no bandwidth for one thread. */
export function predict(
  step: TimedStep,
  limits: Limits,
  threads: number,
  { barrierUs, sample, bandwidth: given }: PredictOptions,
): Prediction {
  const coldBytes = step.ops.reduce((sum, { cost }) => sum + cost.weightBytes + cost.stateBytes, 0)
  const measured = limits.reads.map((read) => read.threads).filter((count) => count <= threads)
  const most = Math.max(...measured)
  const bandwidth = given ?? readBandwidth(limits, most, coldBytes)
  let full = 0
  let grown = 0
  let uneven = 0
  for (const { ms, tiles, cost } of step.ops) {
    const one = spread(ms)[sample]
    const shared = (one * Math.ceil(tiles / threads)) / tiles
    const floor = (cost.weightBytes + cost.stateBytes) / bandwidth / 1e6
    // On one thread the time includes all waiting for memory.
    full += threads === 1 ? one : Math.max(shared, floor)
    grown += threads === 1 ? one : Math.max(shared, (floor * most) / threads)
    uneven += shared - one / threads
  }
  const barriers = threads === 1 ? 0 : (step.ops.length * barrierUs * threads) / 2 / 1000
  return { full: full + barriers, grown: grown + barriers, parts: { uneven, barriers } }
}
