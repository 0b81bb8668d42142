// Rounding to nearest. In: a matrix. Out: codes, each chosen by its own weight alone, on grids with the least
// squared error.

import {
  type CodedMatrix,
  checkWeights,
  emptyMatrix,
  type Format,
  groupCount,
  groupSize,
} from '../codes/coded-matrix.ts'
import { codeOf, fitGrid, newGrid } from './grid.ts'

/**
 * `importance`: how much an error in each input counts when a grid is fitted, [k]. Default: all the same.
 * Throws `format` for weights or scales that no code holds.
 */
export function rtn(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  format: Format,
  importance?: Float64Array,
): CodedMatrix {
  checkWeights(weights, n, k)
  const coded = emptyMatrix(format, n, k)
  const size = groupSize(format, k)
  const groups = groupCount(format, k)
  const row = new Float64Array(k)
  const grid = newGrid()
  for (let r = 0; r < n; r++) {
    for (let i = 0; i < k; i++) row[i] = weights[r * k + i]!
    for (let g = 0; g < groups; g++) {
      const first = g * size
      const count = Math.min(size, k - first)
      fitGrid(format, row, first, count, grid, importance)
      coded.scales[r * groups + g] = grid.scalePattern
      if (coded.minimums !== undefined) coded.minimums[r * groups + g] = grid.minimumPattern
      for (let i = first; i < first + count; i++) coded.codes[r * k + i] = codeOf(format, grid, row[i]!)
    }
  }
  return coded
}
