// The loss of codes: sum_j (sum_{i <= j} e_i C_ji)^2 for each row, by the factor C of the Hessian. The parts
// of earlier blocks of inputs are summed in f32.

import { GROUP_SIZE } from '../../../core/abi/encodings.ts'
import { CODES, type CodedMatrix, checkWeights, type GridFormat, groupsOf } from '../codes/coded-matrix.ts'
import { type Factor, rowsOf } from './factor.ts'
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
  const sums = dense.floats('gradients', n * k)
  const losses = new Float64Array(n)
  let first = 0
  for (const end of blockEnds(k)) {
    for (let row = 0; row < n; row++) {
      for (let j = first; j < end; j++) {
        let sum = sums[row * k + j]!
        for (let i = first; i <= j; i++) sum += errors[row * k + i]! * triangle[j * k + i]!
        losses[row]! += sum * sum
      }
    }
    addErrors(factor, errors, sums, n, first, end)
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
 * Adds the errors of inputs [first, end) to the sums of later inputs, in f32: sums[row][j] += e_i C_ji. Both
 * are [n][k].
 */
export function addErrors(
  { mirror, dense, k }: Pick<Factor, 'mirror' | 'dense' | 'k'>,
  errors: Float64Array,
  sums: Float32Array,
  n: number,
  first: number,
  end: number,
): void {
  if (end === k) return
  const count = end - first
  const own = dense.floats('changes', n * count)
  for (let row = 0; row < n; row++) own.set(errors.subarray(row * k + first, row * k + end), row * count)
  const { values, stride } = mirror
  const later = rowsOf(values, stride, first * stride + end)
  dense.addProducts(rowsOf(own, count), later, rowsOf(sums, k, end), n, k - end, count)
}

/** Subtracts what damping adds to the loss of each row. */
export function subtractDamping(losses: Float64Array, errors: Float64Array, { added, k }: Factor): void {
  for (let row = 0; row < losses.length; row++) {
    for (let j = 0; j < k; j++) losses[row]! -= added[j]! * errors[row * k + j]! ** 2
    losses[row] = Math.max(0, losses[row]!)
  }
}

export const total = (losses: Float64Array): number => losses.reduce((sum, each) => sum + each, 0)
