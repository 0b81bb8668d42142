// The OBS update: computes the kept weights that best compensate for the dropped ones, for a whole row at
// once.
//
//   w  a row      P  dropped inputs      K  kept inputs      H  sum x x^T + g I      v  the row afterwards
//
// L = sum ((w - v) x)^2 + g |w - v|^2 with v_P = 0 is least at
//
//   v_K = w_K + w_P H_PK (H_KK)^-1                       which factors H_KK,
//   v   = w - w_P [(H^-1)_PP]^-1 (H^-1)_P                which factors (H^-1)_PP, and
//   L   = w_P [(H^-1)_PP]^-1 w_P^T = w_P (H_PP - H_PK (H_KK)^-1 H_KP) w_P^T.
//
// This is Theorem 4.1 of a paper on sparse Mamba models for phones. Its Hessian is 2 X X^T, hence the 1/2 in
// its equation 24. Its printed equation 23 lacks the minus sign of equation 19.

import { type Factor, rowsOf } from '../matrix/factor.ts'
import { type Compact, divide, factorOf } from './inverse.ts'
import { type Mask, type MaskSides, rowGroups } from './mask.ts'

/** Multiply-adds of the update, excluding the inverse. `byKept`: whether the kept side is always factored. */
export function updateWork(mask: Mask, byKept: boolean): number {
  return rowGroups(mask).reduce((sum, { rows, kept, dropped }) => {
    const side = byKept ? kept.length : Math.min(kept.length, dropped.length)
    return sum + side ** 3 / 6 + rows.length * (side * side + dropped.length * kept.length)
  }, 0)
}

/** Updates rows with the same mask in place, [n][k]. `compact`: the factor of H_KK. */
export function updateByKept(values: Float64Array, sides: MaskSides, factor: Factor, compact: Compact): void {
  const { kept, dropped } = sides
  const { k, hessian, dense } = factor
  const n = values.length / k
  const lost = takeInputs(values, k, dropped, dense.room('errors', n * dropped.length))
  const steps = dense.room('products', n * kept.length)
  addCross(lost, hessian, sides, factor, steps)
  divide(steps, n, kept.length, compact)
  for (let row = 0; row < n; row++) {
    for (const p of dropped) values[row * k + p] = 0
    for (let i = 0; i < kept.length; i++) values[row * k + kept[i]!]! += steps[row * kept.length + i]!
  }
}

/** The same, with the factor of (H^-1)_PP. */
export function updateByDropped(
  values: Float64Array,
  sides: MaskSides,
  factor: Factor,
  inverse: Float64Array,
): void {
  const { kept, dropped } = sides
  const { k, dense } = factor
  const n = values.length / k
  const shares = takeInputs(values, k, dropped, dense.room('products', n * dropped.length))
  divide(shares, n, dropped.length, factorOf(inverse, k, dropped, 0, factor))
  const steps = dense.room('errors', n * kept.length)
  addCross(shares, inverse, sides, factor, steps)
  for (let row = 0; row < n; row++) {
    for (const p of dropped) values[row * k + p] = 0
    for (let i = 0; i < kept.length; i++) values[row * k + kept[i]!]! -= steps[row * kept.length + i]!
  }
}

function takeInputs(values: Float64Array, k: number, inputs: Uint32Array, to: Float64Array): Float64Array {
  for (let at = 0, row = 0; at < to.length; row += k)
    for (const input of inputs) to[at++] = values[row + input]!
  return to
}

/** Number of kept inputs whose columns are gathered at once. */
export const CROSS_ROWS = 128

/** Adds left [n][P] times the rows P and columns K of a symmetric matrix [k][k] to `to`, [n][K]. */
function addCross(
  left: Float64Array,
  matrix: Float64Array,
  { kept, dropped }: MaskSides,
  { k, dense }: Factor,
  to: Float64Array,
): void {
  const m = kept.length
  const p = dropped.length
  if (p === 0) return
  const n = left.length / p
  for (let first = 0; first < m; first += CROSS_ROWS) {
    const own = kept.subarray(first, first + CROSS_ROWS)
    const cross = dense.room('cross', own.length * p)
    let at = 0
    for (const j of own) for (const i of dropped) cross[at++] = matrix[j * k + i]!
    dense.gemm(rowsOf(left, p), rowsOf(cross, p), rowsOf(to, m, first), n, own.length, p, 1)
  }
}
