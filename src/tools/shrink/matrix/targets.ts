// Finds the weights that come closest to the float model's products when inputs come from the compressed
// model.
//
//   x  an input of the float model                 r  the residual the products are added to, if any
//   z  the same input after compressed matrices    s  the same residual in the float model
//   D = sum (x - z) z^T                            B = sum (s - r) z^T
//
// The minimum of sum (w x + s - v z - r)^2 is at v = w + (w D + B) H^-1, with H = sum z z^T plus damping. A
// solver that targets v compensates for part of the earlier matrices' errors. The target is only a fraction
// of the way to v: all the way fits the calibration text better but other texts worse.

import { type Dense, type Factor, type Rows, rowsOf, slopeStride } from './factor.ts'

export const DEFAULT_DRIFT = 0.5

/** How a compressed model's inputs differ from the float model's. Absent parts count as zero. */
interface Drift {
  /** D, [k][k], by `driftRows`. */
  readonly drift?: Rows<Float32Array> | undefined
  /** B, [n][k]. */
  readonly behind?: Float64Array | undefined
}

/** Moves w towards v by the fraction `share` of the distance. Returns [n][k]. */
export function targetsOf(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  { drift, behind }: Drift,
  factor: Factor,
  share: number,
): Float64Array {
  const { dense } = factor
  const products = dense.floats('products', n * k)
  if (behind !== undefined) products.set(behind)
  if (drift !== undefined) {
    const own = dense.floats('weights', n * k)
    own.set(weights)
    dense.addProducts(rowsOf(own, k), drift, rowsOf(products, k), n, k, k)
  }
  divideRows(products, n, factor)
  const targets = new Float64Array(n * k)
  for (let at = 0; at < targets.length; at++) targets[at] = weights[at]! + share * products[at]!
  return targets
}

/** D in f32, as an operand. */
export function driftRows(drift: Float64Array, k: number, dense: Dense): Rows<Float32Array> {
  const stride = slopeStride(k)
  const values = dense.floats('drift', stride * k)
  for (let i = 0; i < k; i++) values.set(drift.subarray(i * k, (i + 1) * k), i * stride)
  return rowsOf(values, stride)
}

/** Columns divided at once. */
const BLOCK = 32

/**
 * Multiplies rows [n][k] by H^-1, in place, where H = C^T C: solves with C, from its last column, then with
 * C^T. In f32: a target that is off by rounding costs nothing, because damping bounds what it is multiplied
 * by.
 */
function divideRows(rows: Float32Array, n: number, { k, mirror, dense }: Factor): void {
  const { values, stride } = mirror
  const solved = dense.floats('changes', n * BLOCK)
  for (let end = k; end > 0; end -= BLOCK) {
    const start = Math.max(0, end - BLOCK)
    for (let row = 0; row < n; row++) {
      const at = row * k
      for (let j = end - 1; j >= start; j--) {
        const value = rows[at + j]! / values[j * stride + j]!
        rows[at + j] = value
        solved[row * BLOCK + j - start] = -value
        for (let i = start; i < j; i++) rows[at + i]! -= value * values[j * stride + i]!
      }
    }
    const earlier = rowsOf(values, stride, start * stride)
    dense.addProducts(rowsOf(solved, BLOCK), earlier, rowsOf(rows, k), n, start, end - start)
  }
  for (let start = 0; start < k; start += BLOCK) {
    const end = Math.min(start + BLOCK, k)
    for (let row = 0; row < n; row++) {
      const at = row * k
      for (let j = start; j < end; j++) {
        let sum = rows[at + j]!
        for (let i = start; i < j; i++) sum -= rows[at + i]! * values[j * stride + i]!
        rows[at + j] = sum / values[j * stride + j]!
        solved[row * BLOCK + j - start] = -rows[at + j]!
      }
    }
    const later = rowsOf(values, stride, start * stride + end)
    dense.addProducts(rowsOf(solved, BLOCK), later, rowsOf(rows, k, end), n, k - end, end - start)
  }
}
