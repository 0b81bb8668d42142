// Pace. In: a loaded model, ids. Out: how fast it reads the first of them, and runs the last one by one.
import { perSecond, steadyClock } from '../../base/time/clocks.ts'
import type { BuiltModel } from '../../engine/load/build-model.ts'

export interface PaceOptions {
  /** How many of the ids, at the end, are run one by one. */
  readonly tokens: number
  readonly now: () => number
  readonly signal: AbortSignal
}

/** A prompt that was read. */
export interface Paced {
  /** Tokens a second. */
  readonly prefill: number
  /** Runs the last ids. Tokens a second. */
  decode(): Promise<number>
  release(): void
}

/** Reads the first ids with a sequence of its own. Throws what the scheduler throws. */
export async function pace(
  { scheduler, newSequence }: Pick<BuiltModel, 'scheduler' | 'newSequence'>,
  ids: readonly number[],
  { tokens, now: clock, signal }: PaceOptions,
): Promise<Paced> {
  const now = steadyClock(clock)
  const prompt = ids.slice(0, ids.length - tokens)
  const sequence = newSequence()
  const run = () => scheduler.forward({ sequence, onLogits: () => undefined, signal })
  try {
    sequence.setTokens(prompt)
    const started = now()
    await run()
    return {
      prefill: perSecond(prompt.length, now() - started),
      async decode() {
        const before = now()
        for (const id of ids.slice(prompt.length)) {
          sequence.append(id)
          await run()
        }
        return perSecond(tokens, now() - before)
      },
      release: () => sequence.release(),
    }
  } catch (error) {
    sequence.release()
    throw error
  }
}
