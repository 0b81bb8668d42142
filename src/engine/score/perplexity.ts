// The perplexity of a model on token ids, as defined by llama.cpp.
import { HalfbyteError } from '../../core/base/errors.ts'
import { brokenLogit } from '../../core/generate/sampler/logit-rows.ts'

/** Ids of a text, in a typed array if there may be many. */
export type Ids = readonly number[] | Uint32Array

/**
 * Runs `tokens` from an empty state and passes on each position's logits. The view is valid during the call
 * only.
 */
export type ForwardRows = (
  tokens: readonly number[],
  onRow: (position: number, logits: Float32Array) => void,
  signal?: AbortSignal,
) => Promise<void>

interface PerplexityOptions {
  /** Tokens per window. Default 256. */
  readonly context?: number
  /** Maximum number of windows to score. Default: all. */
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
 * Splits the text into non-overlapping windows. In each window it scores the tokens after the middle, with
 * all earlier tokens of the window as context, as llama.cpp's `perplexity` does. Throws `format` if the text
 * is shorter than one window.
 */
export async function perplexity(
  tokens: Ids,
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
    const ids = Array.from(tokens.slice(window * context, (window + 1) * context))
    const own = await scoreWindow(ids, forward, { first, bos: options.bos, signal: options.signal })
    tally.sum += own.sum
    tally.squares += own.squares
    tally.count += own.count
    options.onWindow?.(window + 1, windows, Math.exp(tally.sum / tally.count))
  }
  const { value, error } = perplexityOfTokens(tally)
  return { perplexity: value, error, windows, scored: tally.count }
}

/** Losses of scored tokens, in nats. */
export interface WindowTally {
  readonly sum: number
  /** Sum of squares. */
  readonly squares: number
  readonly count: number
}

/**
 * Scores the tokens of a window after position `first`, each with all earlier ones as context. `bos` replaces
 * the first token, but is never scored.
 */
export async function scoreWindow(
  targets: readonly number[],
  forward: ForwardRows,
  options: {
    readonly first: number
    readonly bos?: number | undefined
    readonly signal?: AbortSignal | undefined
  },
): Promise<WindowTally> {
  const { first, bos, signal } = options
  const ids = bos === undefined ? targets : [bos, ...targets.slice(1)]
  const tally = { sum: 0, squares: 0, count: 0 }
  const take = (position: number, logits: Float32Array) => {
    if (position < first || position >= targets.length - 1) return
    const loss = negativeLogLikelihood(logits, targets[position + 1] ?? 0)
    tally.sum += loss
    tally.squares += loss * loss
    tally.count++
  }
  await forward(ids, take, signal)
  return tally
}

/** Perplexity with llama.cpp's standard error, which assumes that the losses of tokens are independent. */
export function perplexityOfTokens({ sum, squares, count }: WindowTally): {
  readonly value: number
  readonly error: number
} {
  const mean = sum / count
  const variance = Math.max(0, squares / count - mean * mean)
  const value = Math.exp(mean)
  return { value, error: value * Math.sqrt(variance / Math.max(1, count - 1)) }
}

/** -log softmax(logits)[id], summed in f64. Throws `integrity` on NaN or +Infinity. */
export function negativeLogLikelihood(logits: Float32Array, id: number): number {
  return logSum(logits) - (logits[id] ?? Number.NEGATIVE_INFINITY)
}

// hot
/** The logarithm of the sum of exponentials, in f64. Throws `integrity` on NaN or +Infinity. */
export function logSum(row: Float32Array): number {
  // Loops over indices, because iterators and Math.max took twice as long, or a seventh of an evaluation.
  let peak = Number.NEGATIVE_INFINITY
  for (let at = 0; at < row.length; at++) {
    const value = row[at]!
    if (value > peak) peak = value
  }
  let sum = 0
  for (let at = 0; at < row.length; at++) sum += Math.exp(row[at]! - peak)
  // At least 1, or NaN.
  if (!(sum > 0)) throw brokenLogit(row)
  return peak + Math.log(sum)
}
