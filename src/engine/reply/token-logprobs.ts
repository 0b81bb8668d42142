// The log-probabilities of single tokens: those that a model writes, and those of a given text.

import { LogProbabilities } from '../../core/generate/sampler/candidates.ts'
import type { LoadedModel, ModelText } from '../load/loaded-model.ts'
import type { ScoredToken, TokenLogprobs } from '../types/reply.ts'

const tokenOf = (text: ModelText, id: number) => ({
  id,
  text: text.tokenText(id),
  bytes: [...text.tokenBytes(id)],
})

/** The log-probability of `id` in the row `source` observed last, with the most likely tokens. */
export function tokenLogprobs(source: LogProbabilities, text: ModelText, id: number): TokenLogprobs {
  const top = Array.from(source.ids.subarray(0, source.count), (each, index) => ({
    ...tokenOf(text, each),
    logprob: source.logprobs[index]!,
  }))
  return { ...tokenOf(text, id), logprob: source.of(id), top }
}

/**
 * How likely the model finds each of `ids` given those before it, with the `top` most likely ids at each
 * position. All ids are processed, including those whose state is stored. Their state is kept for texts that
 * continue them. Throws `context-overflow`, errors of the scheduler, or the signal's reason.
 */
export async function scoreTokens(
  model: Pick<LoadedModel, 'logitRows' | 'newSequence' | 'scheduler' | 'text'>,
  ids: readonly number[],
  top: number,
  signal?: AbortSignal,
): Promise<ScoredToken[]> {
  const source = new LogProbabilities(model.logitRows, top)
  const scored: ScoredToken[] = ids.slice(0, 1).map((id) => ({ ...tokenOf(model.text, id), top: [] }))
  if (ids.length < 2) return scored
  const sequence = model.newSequence({ shares: true, adopts: false })
  try {
    sequence.setTokens(ids)
    // The last token only predicts what follows the text.
    sequence.truncate(ids.length - 1)
    await model.scheduler.forward({
      sequence,
      signal,
      logits: 'all',
      onLogits: (position, logits) => {
        source.observe(logits)
        scored.push(tokenLogprobs(source, model.text, ids[position + 1]!))
      },
    })
    sequence.state.checkpoint()
  } finally {
    sequence.release()
  }
  return scored
}
