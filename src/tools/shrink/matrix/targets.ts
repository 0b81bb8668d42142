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

import { columns, type Dense, type Factor, rowsOf } from './factor.ts'

export const DEFAULT_DRIFT = 0.5

/** How a compressed model's inputs differ from the float model's. Absent parts count as zero. */
interface Drift {
  /** D transposed, [k][k], by `turned`. */
  readonly drift?: Float64Array | undefined
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
  const products = dense.room('products', n * k)
  if (behind !== undefined) products.set(behind)
  if (drift !== undefined) {
    const own = dense.room('weights', n * k)
    own.set(weights)
    dense.gemm(rowsOf(own, k), rowsOf(drift, k), rowsOf(products, k), n, k, k, 1)
  }
  divide(products, n, k, factor)
  const targets = new Float64Array(n * k)
  for (let at = 0; at < targets.length; at++) targets[at] = weights[at]! + share * products[at]!
  return targets
}

/** D transposed, as an operand. */
export function transposedDrift(drift: Float64Array, k: number, dense: Dense): Float64Array {
  const room = dense.room('drift', k * k)
  for (let i = 0; i < k; i++) {
    for (let j = 0; j < k; j++) room[j * k + i] = drift[i * k + j]!
  }
  return room
}

/** Columns divided at once. */
const BLOCK = 32

/**
 * Multiplies the [n][width] matrix `rows` by H^-1, in place, where H = C^T C: solves with C, from its last
 * column, then with C^T. If `width` is below k, only the first rows and columns of C are used.
 */
export function divide(
  rows: Float64Array,
  n: number,
  width: number,
  { k, triangle, dense }: Pick<Factor, 'k' | 'triangle' | 'dense'>,
): void {
  for (let end = width; end > 0; end -= BLOCK) {
    const start = Math.max(0, end - BLOCK)
    for (let row = 0; row < n * width; row += width) {
      for (let j = end - 1; j >= start; j--) {
        const value = rows[row + j]! / triangle[j * k + j]!
        rows[row + j] = value
        for (let i = start; i < j; i++) rows[row + i]! -= value * triangle[j * k + i]!
      }
    }
    const panel = rowsOf(columns(triangle, k, start, end, dense), end - start)
    dense.gemm(rowsOf(rows, width, start), panel, rowsOf(rows, width), n, start, end - start, -1)
  }
  for (let start = 0; start < width; start += BLOCK) {
    const end = Math.min(start + BLOCK, width)
    const own = rowsOf(triangle, k, start * k)
    dense.gemm(rowsOf(rows, width), own, rowsOf(rows, width, start), n, end - start, start, -1)
    for (let row = 0; row < n * width; row += width) {
      for (let j = start; j < end; j++) {
        let sum = rows[row + j]!
        for (let i = start; i < j; i++) sum -= rows[row + i]! * triangle[j * k + i]!
        rows[row + j] = sum / triangle[j * k + j]!
      }
    }
  }
}
