// Scores. In: weights and a passage. Out: how strongly it indicates each kind of need.
import { MEANINGS, type Passage, SURFACES } from './features.ts'

/** The kinds of need in the order of their weights. */
export const NEEDS = ['self-harm', 'medical', 'violence'] as const

/** Weights of a softmax over the three kinds and "ordinary", whose score is 0. */
export interface Weights {
  /** [3]: the scores of a passage without features. */
  readonly biases: ArrayLike<number>
  /** [3][MEANINGS] */
  readonly meanings: ArrayLike<number>
  /** [SURFACES], in units of `surfaceUnit`: added to the scores of all kinds. */
  readonly surfaces: ArrayLike<number>
  readonly surfaceUnit: number
}

/** One of many words must not outweigh the meaning of a passage. */
export const surfaceShare = (passage: Passage): number => 1 / Math.sqrt(Math.max(1, passage.surfaces.length))

/** Writes the scores of the kinds to `scores` and returns the logarithm of their odds against "ordinary". */
export function scorePassage(weights: Weights, passage: Passage, scores: Float64Array): number {
  let shared = 0
  for (const feature of passage.surfaces) shared += weights.surfaces[feature % SURFACES]!
  shared *= weights.surfaceUnit * surfaceShare(passage)
  let sum = 0
  for (let kind = 0; kind < NEEDS.length; kind++) {
    let score = weights.biases[kind]! + shared
    for (const feature of passage.meanings) score += weights.meanings[kind * MEANINGS + feature]!
    scores[kind] = score
    sum += Math.exp(score)
  }
  return Math.log(sum)
}
