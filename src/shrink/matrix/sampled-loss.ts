// Sampled loss. In: a matrix, what it would be stored as, what calibration knows of its inputs. Out: the
// error of its products, from some of its outputs.
import type { InputStats } from './hessian.ts'

/** Multiply-adds that one estimate may take. */
const WORK = 2e8
const LEAST_ROWS = 8

/** Outputs [0, n) to look at, evenly spread: fewer where a row costs more. */
export function sampledRows(n: number, k: number): number[] {
  const count = Math.min(n, Math.max(LEAST_ROWS, Math.floor(WORK / (k * k))))
  return Array.from({ length: count }, (_, index) => Math.floor((index * n) / count))
}

/** sum over `rows` of v H v^T, where v are rows of `values`, [rows.length][k]. */
export function energy(values: Float64Array, { k, gram }: Pick<InputStats, 'k' | 'gram'>): number {
  let total = 0
  for (let at = 0; at < values.length; at += k) {
    for (let j = 0; j < k; j++) {
      const value = values[at + j]!
      if (value === 0) continue
      let sum = 0
      const row = j * k
      for (let i = 0; i < j; i++) sum += values[at + i]! * gram[row + i]!
      total += value * (2 * sum + value * gram[row + j]!)
    }
  }
  return total
}

/** The rows of a matrix, [rows.length][k]. */
export function takeRows(weights: ArrayLike<number>, rows: readonly number[], k: number): Float64Array {
  const taken = new Float64Array(rows.length * k)
  for (const [index, row] of rows.entries()) {
    for (let i = 0; i < k; i++) taken[index * k + i] = weights[row * k + i]!
  }
  return taken
}
