// Targets. In: a matrix, and how its inputs differ from those of the float model. Out: the weights that come
// nearest to the float model's products from the inputs that are there.
//
//   x  an input of the float model      z  the same input behind compressed matrices      D = sum (x - z) z^T
//
// r  what the products are added to, if anything      s  the same in the float model      B = sum (s - r) z^T
//
// The least of sum (w x + s - v z - r)^2 is at v = w + (w D + B) H^-1, with H = sum z z^T and its dampening.
// A solver that aims at v makes up for part of the errors of the matrices before it. Only a share of the way
// is taken: the whole way fits the calibration text better and other texts worse.

import type { Factor } from './factor.ts'

export const DEFAULT_DRIFT = 0.5

/** What a float model says about the inputs of a compressed one. Absent parts count as zero. */
export interface Drift {
  /** D, [k][k]. */
  readonly drift?: Float64Array | undefined
  /** B, [n][k]. */
  readonly behind?: Float64Array | undefined
}

/** `share` of the way from w to v is taken. Returns [n][k]. */
export function targetsOf(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  { drift, behind }: Drift,
  factor: Factor,
  share: number,
): Float64Array {
  const targets = Float64Array.from(weights)
  const product = new Float64Array(k)
  const solved = new Float64Array(k)
  for (let row = 0; row < n; row++) {
    product.fill(0)
    if (behind !== undefined) product.set(behind.subarray(row * k, (row + 1) * k))
    for (let i = 0; drift !== undefined && i < k; i++) {
      const weight = weights[row * k + i]!
      for (let j = 0; j < k; j++) product[j]! += weight * drift[i * k + j]!
    }
    divide(product, factor, solved)
    for (let i = 0; i < k; i++) targets[row * k + i]! += share * solved[i]!
  }
  return targets
}

/** result = row H^-1, with H = C^T C in solving order. */
function divide(row: Float64Array, { k, triangle, order }: Factor, result: Float64Array): void {
  const rest = Float64Array.from(order, (input) => row[input]!)
  for (let j = k - 1; j >= 0; j--) {
    const value = rest[j]! / triangle[j * k + j]!
    rest[j] = value
    for (let i = 0; i < j; i++) rest[i]! -= value * triangle[j * k + i]!
  }
  for (let j = 0; j < k; j++) {
    let sum = rest[j]!
    for (let i = 0; i < j; i++) sum -= rest[i]! * triangle[j * k + i]!
    rest[j] = sum / triangle[j * k + j]!
  }
  for (let j = 0; j < k; j++) result[order[j]!] = rest[j]!
}
