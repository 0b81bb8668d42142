// Computes one vector for a text from the hidden states after the model's last norm.

import { HalfbyteError } from '../../core/base/errors.ts'
import { checkOption, choice } from '../../core/base/options/option-kinds.ts'
import type { ScoringModel } from './score.ts'

/** How a text's hidden states become one vector. */
export interface EmbedOptions {
  /**
   * `mean`: the mean of all positions; `last`: the last position, which has seen all others. Default `mean`.
   */
  readonly pooling?: 'mean' | 'last' | undefined
  /** Scales the vector to length 1, so that a dot product is the cosine. Default true. */
  readonly normalize?: boolean | undefined
}

const POOLING = choice(['mean', 'last'])

/**
 * The vector of `ids` [hidden size]. Throws `unsupported` for an empty text, `context-overflow`, an error of
 * the scheduler, or the signal's reason.
 */
export async function embed(
  model: ScoringModel,
  ids: readonly number[],
  { pooling = 'mean', normalize = true }: EmbedOptions = {},
  signal?: AbortSignal,
): Promise<Float32Array> {
  checkOption('pooling', pooling, POOLING)
  if (ids.length === 0)
    throw new HalfbyteError('unsupported', 'an empty text has no embedding; give it a word')
  const sequence = model.newSequence()
  let sum: Float64Array | undefined
  try {
    sequence.setTokens(ids)
    await model.scheduler.forward({
      sequence,
      signal,
      output: 'hidden',
      logits: pooling === 'mean' ? 'all' : 'last',
      onLogits: (_, hidden) => {
        sum ??= new Float64Array(hidden.length)
        for (let i = 0; i < hidden.length; i++) sum[i] = sum[i]! + hidden[i]!
      },
    })
  } finally {
    sequence.release()
  }
  return scaled(sum ?? new Float64Array(), pooling === 'mean' ? ids.length : 1, normalize)
}

function scaled(sum: Float64Array, count: number, normalize: boolean): Float32Array {
  const length = Math.sqrt(sum.reduce((all, value) => all + value * value, 0))
  if (Number.isNaN(length) || length === Number.POSITIVE_INFINITY)
    throw new HalfbyteError(
      'integrity',
      "the embedding is not a number, so the model's weights are corrupt; remove the stored model and download it again",
    )
  const divisor = normalize && length > 0 ? length : count
  return Float32Array.from(sum, (value) => value / divisor)
}
