// Scores. In: weights, what is known of their inputs. Out: for each unit of a pattern, the mean over its
// weights of what dropping it would cost.
//
//   magnitude  w^2          Wanda  w^2 sum x^2, whose root is |w| times the norm of the input
//   OBS        w^2 / [H^-1]_pp for single weights and strips, w_P [(H^-1)_PP]^-1 w_P^T for blocks

import type { InputStats } from '../matrix/hessian.ts'
import type { Mask, RowGroup } from './mask.ts'
import { unitGrid } from './mask.ts'
import type { Pattern } from './pattern.ts'

/** `norms`: sum x^2 of each input for Wanda; absent for magnitude. */
export function plainScores(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  pattern: Pattern,
  norms?: Float64Array,
): Float64Array {
  const [rows, width] = unitGrid(n, k, pattern)
  const scores = new Float64Array(rows * width)
  for (let row = 0; row < n; row++) {
    const to = Math.floor(row / pattern.rows) * width
    for (let i = 0; i < k; i++) {
      const weight = weights[row * k + i]!
      scores[to + Math.floor(i / pattern.inputs)]! += weight * weight * (norms?.[i] ?? 1)
    }
  }
  return meanOf(scores, n, k, pattern)
}

/** sum x^2 of each input. */
export const normsOf = ({ gram, k }: Pick<InputStats, 'gram' | 'k'>): Float64Array =>
  Float64Array.from({ length: k }, (_, i) => gram[i * (k + 1)]!)

/** The inverse of H_KK: values [K][K], of the inputs K. */
export interface PartInverse {
  readonly values: Float64Array
  readonly kept: Uint32Array
}

/**
 * Adds what dropping each unit costs the rows of a group. Inputs that were dropped before cost nothing, and
 * neither do dead ones.
 */
export function addObsScores(
  scores: Float64Array,
  values: ArrayLike<number>,
  { n, k }: Pick<Mask, 'n' | 'k'>,
  { rows }: Pick<RowGroup, 'rows'>,
  { values: inverse, kept }: PartInverse,
  pattern: Pattern,
  isDead: (input: number) => boolean,
): void {
  const [, width] = unitGrid(n, k, pattern)
  const size = kept.length
  for (let first = 0; first < size; ) {
    const unit = Math.floor(kept[first]! / pattern.inputs)
    let end = first
    while (end < size && Math.floor(kept[end]! / pattern.inputs) === unit) end++
    const own = Array.from({ length: end - first }, (_, i) => first + i).filter((i) => !isDead(kept[i]!))
    const form = invert(own.map((a) => own.map((b) => inverse[a * size + b]!)))
    for (const row of rows) {
      const w = own.map((i) => values[row * k + kept[i]!]!)
      let cost = 0
      for (let a = 0; a < w.length; a++)
        for (let b = 0; b < w.length; b++) cost += w[a]! * w[b]! * form[a]![b]!
      scores[Math.floor(row / pattern.rows) * width + unit]! += cost
    }
    first = end
  }
}

/** Divides sums by the number of weights of each unit, which is smaller at the edges. */
export function meanOf(scores: Float64Array, n: number, k: number, { rows, inputs }: Pattern): Float64Array {
  const width = Math.ceil(k / inputs)
  return scores.map((score, unit) => {
    const top = Math.floor(unit / width) * rows
    const left = (unit % width) * inputs
    return score / (Math.min(rows, n - top) * Math.min(inputs, k - left))
  })
}

/** Of a small positive definite matrix, by elimination in place. */
function invert(matrix: number[][]): number[][] {
  const size = matrix.length
  for (let p = 0; p < size; p++) {
    const pivot = 1 / matrix[p]![p]!
    for (let a = 0; a < size; a++) {
      if (a === p) continue
      const factor = matrix[a]![p]! * pivot
      for (let b = 0; b < size; b++) if (b !== p) matrix[a]![b]! -= factor * matrix[p]![b]!
      matrix[a]![p] = -factor
    }
    for (let b = 0; b < size; b++) if (b !== p) matrix[p]![b]! *= pivot
    matrix[p]![p] = pivot
  }
  return matrix
}
