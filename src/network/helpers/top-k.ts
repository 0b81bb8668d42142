// Picks the highest scores.
import { checkValue, whole } from '../../core/base/options/option-kinds.ts'
import { type Numbers, oneRow } from './rows.ts'

/** One of the highest scores. */
export interface TopScore {
  /** Position in the row, such as the number of a class. */
  readonly index: number
  /** The score at this position. */
  readonly score: number
}

const COUNT = whole(1)

/**
 * The `k` highest scores of a row, highest first; equal scores in the order of the row. For a shorter row,
 * returns all of its scores. NaN ranks below every number.
 *
 * ```ts
 * const best = topK(softmax(logits), 5).map(({ index, score }) => [labels[index], score])
 * ```
 *
 * Throws `unsupported` for a tensor with several rows, and if `k` is not a whole number of at least 1.
 */
export function topK(scores: Numbers, k: number): TopScore[] {
  checkValue('k', k, COUNT)
  const row = oneRow('scores', scores)
  return byScore(row)
    .slice(0, k)
    .map((index) => ({ index, score: row[index]! }))
}

/** Positions of the scores, highest first; equal scores keep their order, and NaN comes last. */
export function byScore(scores: ArrayLike<number>): number[] {
  const order = Array.from(scores, (_, index) => index)
  const rank = (index: number) => (Number.isNaN(scores[index]) ? Number.NEGATIVE_INFINITY : scores[index]!)
  return order.sort((one, other) => {
    const [left, right] = [rank(one), rank(other)]
    // Infinity - Infinity is NaN.
    return left === right
      ? Number(Number.isNaN(scores[one])) - Number(Number.isNaN(scores[other]))
      : right - left
  })
}
