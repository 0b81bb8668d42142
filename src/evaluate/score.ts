// Scoring. In: a prompt and possible continuations, as ids. Out: how likely the model finds each, without
// sampling.
import { HalfbyteError } from '../base/errors.ts'
import type { Scheduler } from '../generate/schedule/scheduler.ts'
import type { Sequence } from '../generate/schedule/sequence.ts'
import { negativeLogLikelihood } from './perplexity.ts'

/** The parts of a model that scoring needs. */
export interface ScoringModel {
  readonly scheduler: Pick<Scheduler, 'forward'>
  newSequence(): Sequence
}

/** How likely the model finds a continuation. */
export interface Score {
  /** Natural logarithm of the continuation's probability after the prompt: the sum over its tokens. */
  readonly logProbability: number
  /** Number of tokens in the continuation; divide by it to compare continuations of different lengths. */
  readonly tokens: number
  /** True if each of its tokens is the most likely one: greedy decoding would have written it. */
  readonly isGreedy: boolean
}

/**
 * Scores every continuation after the same prompt, which is run once. Throws `unsupported` for an empty
 * prompt, `context-overflow`, an error of the scheduler, or the signal's reason.
 */
export async function score(
  model: ScoringModel,
  prompt: readonly number[],
  continuations: readonly (readonly number[])[],
  signal?: AbortSignal,
): Promise<Score[]> {
  if (prompt.length === 0) {
    throw new HalfbyteError('unsupported', 'an empty prompt predicts nothing; give at least one token')
  }
  const base = model.newSequence()
  try {
    base.setTokens(prompt)
    const scores = continuations.map((ids) => ({ ids, logProbability: 0, isGreedy: true }))
    const take = (entry: (typeof scores)[0], logits: Float32Array, id: number | undefined) => {
      if (id === undefined) return
      entry.logProbability -= negativeLogLikelihood(logits, id)
      entry.isGreedy &&= isLargest(logits, id)
    }
    await model.scheduler.forward({
      sequence: base,
      signal,
      onLogits: (_, logits) => {
        for (const entry of scores) take(entry, logits, entry.ids[0])
      },
    })
    for (const entry of scores) {
      if (entry.ids.length < 2) continue
      const branch = base.fork()
      try {
        // The last token only predicts what follows the continuation.
        branch.setTokens([...prompt, ...entry.ids.slice(0, -1)])
        await model.scheduler.forward({
          sequence: branch,
          signal,
          logits: 'all',
          onLogits: (position, logits) => take(entry, logits, entry.ids[position + 1 - prompt.length]),
        })
      } finally {
        branch.release()
      }
    }
    return scores.map(({ ids, logProbability, isGreedy }) => ({
      logProbability,
      tokens: ids.length,
      isGreedy,
    }))
  } finally {
    base.release()
  }
}

/** Among equals the lowest id wins, as in greedy sampling. */
function isLargest(logits: Float32Array, id: number): boolean {
  const value = logits[id] as number
  for (let other = 0; other < logits.length; other++) {
    const rival = logits[other] as number
    if (rival > value || (rival === value && other < id)) return false
  }
  return true
}
