// The time limit of a run.
import type { OptionKind } from '../../core/base/options/option-kinds.ts'
import { withTimeLimit } from '../../core/base/time/abort.ts'

export const TIME_LIMIT: OptionKind = {
  wanted: 'a number of milliseconds above 0',
  fits: (value) => typeof value === 'number' && value > 0,
}

/**
 * Returns the result of `work`, whose signal aborts when the caller's does, or with a `TimeoutError` after
 * `limitMs`.
 */
export function inTime<Made>(
  signal: AbortSignal | undefined,
  limitMs: number | undefined,
  work: (signal: AbortSignal | undefined) => Promise<Made>,
): Promise<Made> {
  if (limitMs === undefined) return work(signal)
  const sentence = `the run took longer than its limit of ${limitMs} ms; raise timeLimitMs, or give smaller inputs`
  return withTimeLimit(signal, limitMs, sentence, work)
}
