// The loss of codes: sum_j (sum_{i <= j} e_i C_ji)^2 for each row, by the factor C of the Hessian.

import { GROUP_SIZE } from '../../../core/abi/encodings.ts'
import { CODES, type CodedMatrix, checkWeights, type GridFormat, groupsOf } from '../codes/coded-matrix.ts'
import { type Factor, type Rows, rowsOf } from './factor.ts'
import { loadGrid, newGrid } from './grid.ts'

/** Number of inputs whose sums are computed at once. */
export const LOSS_BLOCK = GROUP_SIZE

/** The loss of existing codes, without damping. Throws `format` for weights that are not finite. */
export function lossOf(weights: ArrayLike<number>, coded: CodedMatrix<GridFormat>, factor: Factor): number {
  const { n, k } = coded
  checkWeights(weights, n, k)
  const { dense, triangle } = factor
  const errors = dense.room('errors', n * k)
  fillErrors(errors, weights, coded)
  const sums = dense.room('sums', n * LOSS_BLOCK)
  const losses = new Float64Array(n)
  let first = 0
  for (const end of blockEnds(k)) {
    sumsBefore(factor, errors, rowsOf(sums, LOSS_BLOCK), n, first, end)
    for (let row = 0; row < n; row++) {
      for (let j = first; j < end; j++) {
        let sum = sums[row * LOSS_BLOCK + j - first]!
        for (let i = first; i <= j; i++) sum += errors[row * k + i]! * triangle[j * k + i]!
        losses[row]! += sum * sum
      }
    }
    first = end
  }
  subtractDamping(losses, errors, factor)
  return total(losses)
}

// hot
/** Fills [n][k] with weights minus stored values. */
function fillErrors(errors: Float64Array, weights: ArrayLike<number>, coded: CodedMatrix<GridFormat>): void {
  const { n, k, codes, scales, minimums, format } = coded
  const { zero } = CODES[format]
  const { ends } = groupsOf(coded)
  const grid = newGrid()
  for (let row = 0; row < n; row++) {
    let i = row * k
    for (let group = 0; group < ends.length; group++) {
      const at = row * ends.length + group
      loadGrid(grid, scales[at]!, minimums?.[at] ?? 0)
      const { scale, minimum } = grid
      for (const end = row * k + ends[group]!; i < end; i++)
        errors[i] = weights[i]! - (scale * (codes[i]! - zero) + minimum)
    }
  }
}

export const blockEnds = (k: number): Uint32Array =>
  Uint32Array.from({ length: Math.ceil(k / LOSS_BLOCK) }, (_, block) => Math.min(k, (block + 1) * LOSS_BLOCK))

/**
 * sums[row][j - first] = sum over i < first of errors[row][i] * C_ji, for j in [first, end). Clears other
 * sums.
 */
export function sumsBefore(
  { triangle, dense, k }: Factor,
  errors: Float64Array,
  sums: Rows,
  n: number,
  first: number,
  end: number,
): void {
  sums.values.fill(0)
  const rows = rowsOf(triangle, k, first * k)
  dense.gemm(rowsOf(errors, k), rows, sums, n, end - first, first, 1)
}

/** Subtracts what damping adds to the loss of each row. */
export function subtractDamping(losses: Float64Array, errors: Float64Array, { added, k }: Factor): void {
  for (let row = 0; row < losses.length; row++) {
    for (let j = 0; j < k; j++) losses[row]! -= added[j]! * errors[row * k + j]! ** 2
    losses[row] = Math.max(0, losses[row]!)
  }
}

export const total = (losses: Float64Array): number => losses.reduce((sum, each) => sum + each, 0)
