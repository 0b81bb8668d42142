// Pruning one matrix. In: weights, statistics of their inputs, a method and a pattern. Out: the weights that
// are left, and what dropping the others costs.

import { HalfbyteError } from '../../base/errors.ts'
import { checkWeights } from '../codes/coded-matrix.ts'
import type { Factor } from '../factor.ts'
import type { InputStats } from '../hessian.ts'
import { energy, sampledRows, takeRows } from '../sampled-loss.ts'
import { inverseOf, keptFactor } from './inverse.ts'
import { fullMask, type Mask, maskOf, rowGroups, type Scope } from './mask.ts'
import type { Pattern } from './pattern.ts'
import { addObsScores, meanOf, normsOf, plainScores } from './scores.ts'
import { sparseGpt } from './sparsegpt.ts'
import { obsUpdate, updateWork } from './update.ts'

export type PruneMethod = 'magnitude' | 'wanda' | 'sparsegpt' | 'obs'
export const PRUNE_METHODS: readonly PruneMethod[] = ['obs', 'sparsegpt', 'wanda', 'magnitude']

export interface PruneOptions {
  readonly method: PruneMethod
  readonly pattern: Pattern
  /** Share of weights to drop, 0 to 1. */
  readonly sparsity: number
  /**
   * In how many equal steps OBS drops them. After each, what is left is scored again with its new weights and
   * the inverse of its own Hessian. Default 1.
   */
  readonly rounds?: number | undefined
  /** OBS: whether rows compete for weights, or each drops the same share. Default `matrix`. */
  readonly scope?: Scope | undefined
}

/** Bytes of a `Dense` for matrices of up to `n` outputs, codes included. */
export const pruneBytes = (n: number, k: number): number =>
  8 * (6 * k * k + 2 * Math.max(n, k) * k + n * (k + SUMS) + 64 * (n + k) + 64)

/** Most inputs whose sums a solver takes together. */
const SUMS = 128

/** Rooms of their largest size: one that grows leaves its old bytes unused. */
function reserve({ dense, k }: Factor, n: number): void {
  for (const key of ['weights', 'products']) dense.room(key, Math.max(n, k) * k)
  dense.room('compact', k * k)
  dense.room('errors', n * k)
  dense.room('sums', n * SUMS)
}

/** What calibration knows. `factor` must be in the model's order. */
export interface Known {
  readonly stats: InputStats
  readonly factor: Factor
}

export interface Pruned {
  /** [n][k]; dropped weights are 0. */
  readonly values: Float64Array
  readonly mask: Mask
  /** Multiply-adds of the update, without the inverse of H; 0 where weights are not updated all at once. */
  readonly work: number
}

/** Throws `format` for weights that are not finite, `unsupported` for a Hessian that cannot be solved. */
export function prune(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  options: PruneOptions,
  known?: Known,
): Pruned {
  checkWeights(weights, n, k)
  const { method, pattern, sparsity } = options
  if (method === 'magnitude')
    return zeroed(weights, maskOf(plainScores(weights, n, k, pattern), n, k, pattern, sparsity, 'matrix'))
  if (known === undefined) throw new HalfbyteError('internal', `${method} was called without statistics`)
  if (method === 'wanda') {
    const scores = plainScores(weights, n, k, pattern, normsOf(known.stats))
    return zeroed(weights, maskOf(scores, n, k, pattern, sparsity, 'row'))
  }
  reserve(known.factor, n)
  const isDead = deadOf(known.stats)
  if (method === 'sparsegpt') {
    return { ...sparseGpt(weights, n, k, known.factor, { pattern, sparsity, isDead }), work: 0 }
  }
  return pruneObs(weights, n, k, options, known.factor, isDead)
}

const deadOf =
  ({ gram, k }: InputStats) =>
  (input: number): boolean =>
    !(gram[input * (k + 1)]! > 0)

const zeroed = (weights: ArrayLike<number>, mask: Mask): Pruned => ({
  values: Float64Array.from(weights, (weight, at) => (mask.kept[at] === 1 ? weight : 0)),
  mask,
  work: 0,
})

function pruneObs(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  { pattern, sparsity, rounds = 1, scope = 'matrix' }: PruneOptions,
  factor: Factor,
  isDead: (input: number) => boolean,
): Pruned {
  const inverse = inverseOf(factor, 'inverse')
  let mask = fullMask(n, k)
  let values: Float64Array = Float64Array.from(weights)
  let work = 0
  for (let round = 1; round <= rounds; round++) {
    const scores = obsScores(values, mask, inverse, pattern, factor, isDead)
    mask = maskOf(scores, n, k, pattern, (sparsity * round) / rounds, scope, round / rounds)
    work += updateWork(mask)
    values = obsUpdate(weights, mask, factor, inverse).values
  }
  return { values, mask, work }
}

/** Mean cost of each unit. Dropped units cost nothing, so a later round drops them again. */
function obsScores(
  values: Float64Array,
  mask: Mask,
  inverse: Float64Array,
  pattern: Pattern,
  factor: Factor,
  isDead: (input: number) => boolean,
): Float64Array {
  const { n, k } = mask
  const scores = new Float64Array(Math.ceil(n / pattern.rows) * Math.ceil(k / pattern.inputs))
  for (const group of rowGroups(mask)) {
    const own = group.dropped.length === 0 ? inverse : inverseOf(keptFactor(factor, group.kept), 'part')
    addObsScores(scores, values, mask, group, { values: own, kept: group.kept }, pattern, isDead)
  }
  return meanOf(scores, n, k, pattern)
}

/**
 * sum ((w - v) x)^2 over outputs and calibration inputs; of large matrices, estimated from evenly spread
 * outputs.
 */
export function pruneLoss(
  weights: ArrayLike<number>,
  values: ArrayLike<number>,
  n: number,
  stats: Pick<InputStats, 'k' | 'gram'>,
): number {
  const { k } = stats
  const rows = sampledRows(n, k)
  const was = takeRows(weights, rows, k)
  const is = takeRows(values, rows, k)
  return (
    (energy(
      was.map((weight, at) => weight - is[at]!),
      stats,
    ) *
      n) /
    rows.length
  )
}
