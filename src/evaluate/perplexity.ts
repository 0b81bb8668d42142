// Perplexity. In: token ids and a model's forward pass. Out: exp of the mean negative log-likelihood, as
// llama.cpp defines it.
import { HalfbyteError } from '../base/errors.ts'
import { brokenLogit } from '../generate/sampler/rows.ts'

/**
 * Runs `tokens` from an empty state and passes on each position's logits. The view is valid during the call
 * only.
 */
export type ForwardRows = (
  tokens: readonly number[],
  onRow: (position: number, logits: Float32Array) => void,
  signal?: AbortSignal,
) => Promise<void>

export interface PerplexityOptions {
  /** Tokens in a window. Default 256. */
  readonly context?: number
  /** Most windows to score. Default: all. */
  readonly chunks?: number
  /**
   * Replaces each window's first token, for models that expect a beginning-of-sequence token. Default: none.
   */
  readonly bos?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly onWindow?: ((done: number, total: number, perplexity: number) => void) | undefined
}

export interface Perplexity {
  readonly perplexity: number
  /** Standard error of the perplexity. */
  readonly error: number
  readonly windows: number
  /** Number of scored tokens: those in the second half of each window. */
  readonly scored: number
}

/**
 * Cuts the text into windows that do not overlap. In each window it scores the tokens after the middle, with
 * all earlier tokens of the window as context, as llama.cpp's `perplexity` does. Throws `format` if the text
 * is shorter than one window.
 */
export async function perplexity(
  tokens: readonly number[],
  forward: ForwardRows,
  options: PerplexityOptions = {},
): Promise<Perplexity> {
  const context = options.context ?? 256
  const available = Math.floor(tokens.length / context)
  const windows = Math.min(options.chunks ?? available, available)
  if (windows < 1) {
    throw new HalfbyteError(
      'format',
      `the text has ${tokens.length} tokens but one window needs ${context}; use a longer text or a smaller context`,
      { tokens: tokens.length, context },
    )
  }
  const first = Math.floor(context / 2)
  const tally = { sum: 0, squares: 0, count: 0 }
  for (let window = 0; window < windows; window++) {
    const ids = tokens.slice(window * context, (window + 1) * context)
    const targets = [...ids]
    if (options.bos !== undefined) ids[0] = options.bos
    await forward(
      ids,
      (position, logits) => {
        if (position < first || position >= context - 1) return
        const loss = negativeLogLikelihood(logits, targets[position + 1] ?? 0)
        tally.sum += loss
        tally.squares += loss * loss
        tally.count++
      },
      options.signal,
    )
    options.onWindow?.(window + 1, windows, Math.exp(tally.sum / tally.count))
  }
  const mean = tally.sum / tally.count
  const variance = Math.max(0, tally.squares / tally.count - mean * mean)
  const value = Math.exp(mean)
  return {
    perplexity: value,
    error: value * Math.sqrt(variance / Math.max(1, tally.count - 1)),
    windows,
    scored: tally.count,
  }
}

/** -log softmax(logits)[id], summed in f64. Throws `integrity` on NaN or +Infinity. */
export function negativeLogLikelihood(logits: Float32Array, id: number): number {
  let peak = Number.NEGATIVE_INFINITY
  for (const value of logits) peak = Math.max(peak, value)
  let sum = 0
  for (const value of logits) sum += Math.exp(value - peak)
  const loss = Math.log(sum) + peak - (logits[id] ?? Number.NEGATIVE_INFINITY)
  if (Number.isNaN(loss)) throw brokenLogit(logits)
  return loss
}
