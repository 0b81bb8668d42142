// The OBS update. In: a matrix, a mask, the factor of its inputs' Hessian. Out: the kept weights that make up
// best for the dropped ones, all of a row at once, and what that costs.
//
//   w  a row      P  dropped inputs      K  kept inputs      H  sum x x^T + g I      v  the row afterwards
//
// L = sum ((w - v) x)^2 + g |w - v|^2 with v_P = 0 is least at
//
//   v_K = w_K + w_P H_PK (H_KK)^-1                       which factors H_KK,
//   v   = w - w_P [(H^-1)_PP]^-1 (H^-1)_P                which factors (H^-1)_PP, and
//   L   = w_P [(H^-1)_PP]^-1 w_P^T = w_P (H_PP - H_PK (H_KK)^-1 H_KP) w_P^T.
//
// This is theorem 4.1 of a paper on sparse Mamba models for phones. Its Hessian
// is 2 X X^T, hence the 1/2 in its equation 24; its printed equation 23 has lost the minus of equation 19.

import type { Factor } from '../factor.ts'
import { divide } from '../targets.ts'
import { factorOf, keptFactor } from './inverse.ts'
import { type Mask, type RowGroup, rowGroups } from './mask.ts'

export interface Updated {
  /** [n][k]; dropped weights are 0. */
  readonly values: Float64Array
  /** L of each row by equation 24, dampening included, [n]. */
  readonly losses: Float64Array
}

/**
 * `inverse`: H^-1, [k][k]. With it, the smaller of the two sides of a mask is factored; without it, what is
 * kept. Throws `unsupported` where H_KK cannot be solved.
 */
export function obsUpdate(
  weights: ArrayLike<number>,
  mask: Mask,
  factor: Factor,
  inverse?: Float64Array,
): Updated {
  const values = Float64Array.from(weights, (weight, at) => (mask.kept[at] === 1 ? weight : 0))
  const updated = { values, losses: new Float64Array(mask.n) }
  for (const group of rowGroups(mask)) {
    if (group.dropped.length === 0) continue
    if (inverse === undefined || group.kept.length <= group.dropped.length)
      byKept(weights, group, factor, updated)
    else byDropped(weights, group, factor, inverse, updated)
  }
  return updated
}

/** Multiply-adds of the update, without the inverse. */
export function updateWork(mask: Mask): number {
  return rowGroups(mask).reduce((sum, { rows, kept, dropped }) => {
    const side = Math.min(kept.length, dropped.length)
    return sum + side ** 3 / 6 + rows.length * (side * side + dropped.length * mask.k)
  }, 0)
}

// hot
function byKept(
  weights: ArrayLike<number>,
  { rows, kept, dropped }: RowGroup,
  factor: Factor,
  { values, losses }: Updated,
): void {
  const { k, hessian, dense } = factor
  const m = kept.length
  const pulls = new Float64Array(rows.length * k)
  for (const [index, row] of rows.entries()) {
    const pull = pulls.subarray(index * k, (index + 1) * k)
    for (const p of dropped) addScaled(pull, hessian, p * k, weights[row * k + p]!)
    for (const p of dropped) losses[row]! += pull[p]! * weights[row * k + p]!
  }
  if (m === 0) return
  const compact = keptFactor(factor, kept)
  const steps = dense.room('products', rows.length * m)
  for (let index = 0; index < rows.length; index++) {
    for (let i = 0; i < m; i++) steps[index * m + i] = pulls[index * k + kept[i]!]!
  }
  divide(steps, rows.length, compact)
  for (const [index, row] of rows.entries()) {
    for (let i = 0; i < m; i++) {
      values[row * k + kept[i]!]! += steps[index * m + i]!
      losses[row]! -= steps[index * m + i]! * pulls[index * k + kept[i]!]!
    }
  }
}

// hot
function byDropped(
  weights: ArrayLike<number>,
  { rows, kept, dropped }: RowGroup,
  factor: Factor,
  inverse: Float64Array,
  { values, losses }: Updated,
): void {
  const { k, dense } = factor
  const p = dropped.length
  const compact = factorOf(inverse, k, dropped, 0, factor)
  const shares = dense.room('products', rows.length * p)
  for (const [index, row] of rows.entries()) {
    for (let i = 0; i < p; i++) shares[index * p + i] = weights[row * k + dropped[i]!]!
  }
  divide(shares, rows.length, compact)
  const step = new Float64Array(k)
  for (const [index, row] of rows.entries()) {
    step.fill(0)
    for (let i = 0; i < p; i++) {
      addScaled(step, inverse, dropped[i]! * k, shares[index * p + i]!)
      losses[row]! += shares[index * p + i]! * weights[row * k + dropped[i]!]!
    }
    for (const j of kept) values[row * k + j]! -= step[j]!
  }
}

// hot
function addScaled(to: Float64Array, from: Float64Array, at: number, factor: number): void {
  for (let i = 0; i < to.length; i++) to[i]! += factor * from[at + i]!
}
