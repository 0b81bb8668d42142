// Turns scores into probabilities.
import { type Numbers, rowsOf } from './rows.ts'

/**
 * Probabilities from a classifier's scores: positive, with a sum of 1 per row. A tensor is computed along its
 * last axis, and a list is one row. The result has the same order and length.
 *
 * ```ts
 * const { logits } = await network.run({ pixel_values: tensor }) // [1, 1000]
 * const probabilities = softmax(logits)
 * ```
 *
 * Large scores do not overflow. Scores of -Infinity get 0; a row with NaN or Infinity, or of -Infinity alone,
 * gives NaN. Throws `unsupported` for anything other than numbers.
 */
export function softmax(scores: Numbers): Float32Array {
  const { data, dims } = rowsOf('scores', scores)
  const width = dims.at(-1) ?? 1
  const out = new Float32Array(data.length)
  for (let from = 0; from < data.length; from += width) softmaxRow(data, out, from, from + width)
  return out
}

function softmaxRow(data: ArrayLike<number>, out: Float32Array, from: number, to: number): void {
  let most = Number.NEGATIVE_INFINITY
  for (let at = from; at < to; at++) most = Math.max(most, data[at]!)
  let sum = 0
  for (let at = from; at < to; at++) sum += Math.exp(data[at]! - most)
  for (let at = from; at < to; at++) out[at] = Math.exp(data[at]! - most) / sum
}
