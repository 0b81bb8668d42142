// Adjustments. In: a row of logits and the tokens so far. Out: the same row with some logits changed, before
// any selection.
import type { SamplerSettings } from './options.ts'

/** One stage of the chain that changes single logits. `history` ends at `length`, exclusive. */
export type Adjustment = (logits: Float32Array, history: ArrayLike<number>, length: number) => void

/** Adds each bias to its id's logit. `-Infinity` bans the id, as the list of bans does. */
export function biasLogits({
  logitBias,
  bannedTokens,
}: Pick<SamplerSettings, 'logitBias' | 'bannedTokens'>): Adjustment {
  const biases = new Map(Object.entries(logitBias).map(([id, bias]) => [Number(id), bias]))
  for (const id of bannedTokens) biases.set(id, Number.NEGATIVE_INFINITY)
  const ids = Uint32Array.from(biases.keys())
  const amounts = Float32Array.from(biases.values())
  return (logits) => {
    // hot
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] as number
      logits[id] = (logits[id] as number) + (amounts[i] as number)
    }
  }
}

/**
 * Lowers the logits of the last `repeatLastN` tokens, each id once however often it occurred:
 * l -> (l > 0 ? l / repeatPenalty : l * repeatPenalty) - occurrences * frequencyPenalty - presencePenalty.
 * Keskar and others, CTRL, 2019; llama.cpp multiplies negative logits; the last two terms are OpenAI's.
 * `tally` is zeros [vocab] before and after the call.
 */
export function penalize(
  settings: Pick<SamplerSettings, 'repeatLastN' | 'repeatPenalty' | 'frequencyPenalty' | 'presencePenalty'>,
  tally: Uint32Array,
): Adjustment {
  const { repeatLastN, repeatPenalty, frequencyPenalty, presencePenalty } = settings
  return (logits, history, length) => {
    // hot
    const start = Math.max(0, length - repeatLastN)
    for (let i = start; i < length; i++) {
      const id = history[i] as number
      tally[id] = (tally[id] as number) + 1
    }
    for (let i = start; i < length; i++) {
      const id = history[i] as number
      const count = tally[id] as number
      if (count === 0) continue
      tally[id] = 0
      const logit = logits[id] as number
      const repeated = logit > 0 ? logit / repeatPenalty : logit * repeatPenalty
      logits[id] = repeated - count * frequencyPenalty - presencePenalty
    }
  }
}
