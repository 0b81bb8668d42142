// Rows whose codes are being improved, with their errors and gradients. `refine.ts` explains the symbols.
//
// Changes of a block's errors are applied to the gradients of all inputs at once, as a product in f32: a
// gradient only has to tell neighbouring codes apart.

import { GROUP_SIZE } from '../../../core/abi/encodings.ts'
import {
  CODES,
  type CodedMatrix,
  type GridFormat,
  type Groups,
  groupSize,
  groupsOf,
} from '../codes/coded-matrix.ts'
import { type Factor, rowsOf } from './factor.ts'
import { type Grid, loadGrid, newGrid } from './grid.ts'

/** Maximum inputs whose changes are applied at once. Longer groups consist of several blocks. */
export const BLOCK = GROUP_SIZE

/** Some rows of a matrix. */
export interface SweptSlab {
  readonly coded: CodedMatrix<GridFormat>
  readonly groups: Groups
  readonly factor: Factor
  readonly rows: readonly SweptRow[]
  /** g, [rows][k]. */
  readonly gradients: Float32Array
  /** Changes of a block's errors that the gradients lack, [rows][BLOCK]. */
  readonly changes: Float32Array
  readonly grid: Grid
  readonly block: Block
}

export interface SweptRow {
  /** Its index in the matrix. */
  readonly row: number
  readonly weights: Float64Array
  readonly errors: Float64Array
  /** Its part of the slab's array. */
  readonly gradient: Float32Array
  readonly changes: Float32Array
  /** H c within each group of at most a block, [k]. Empty if groups are longer. */
  readonly pulls: Float64Array
  loss: number
  /** By how much this sweep has lowered the loss. */
  gain: number
}

/** The data for improving a block of a row, which is compact in memory because it is read many times. */
interface Block {
  first: number
  count: number
  /** Rows and columns of H that belong to the block, [BLOCK][BLOCK]. */
  readonly corner: Float64Array
  /** 1 / H_jj */
  readonly inverses: Float64Array
  /** H c for a minimum. */
  readonly sums: Float64Array
  /** Gradients and errors, which follow the changes. */
  readonly near: Float64Array
  readonly errors: Float64Array
}

/** Whether groups may be longer than a block. */
export const isLong = ({ format, k }: CodedMatrix<GridFormat>): boolean => groupSize(format, k) > BLOCK

/** Blocks of inputs, none empty: the groups, or parts of them if they are longer. */
export function* blocksOf({ groups }: SweptSlab): Generator<{ group: number; first: number; end: number }> {
  let first = 0
  for (const [group, last] of groups.ends.entries()) {
    while (first < last) {
      const end = Math.min(first + BLOCK, last)
      yield { group, first, end }
      first = end
    }
  }
}

/** Prepares a slab, with its errors and gradients. */
export function openSlab(
  weights: ArrayLike<number>,
  coded: CodedMatrix<GridFormat>,
  factor: Factor,
  first: number,
  end: number,
): SweptSlab {
  const { k } = coded
  const { dense } = factor
  const count = end - first
  const errors = dense.room('errors', count * k)
  const gradients = dense.floats('gradients', count * k)
  const changes = dense.floats('changes', count * BLOCK)
  const rows = Array.from({ length: count }, (_, at): SweptRow => {
    const own = new Float64Array(k)
    for (let i = 0; i < k; i++) own[i] = weights[(first + at) * k + i]!
    return {
      row: first + at,
      weights: own,
      errors: errors.subarray(at * k, (at + 1) * k),
      gradient: gradients.subarray(at * k, (at + 1) * k),
      changes: changes.subarray(at * BLOCK, (at + 1) * BLOCK),
      pulls: new Float64Array(isLong(coded) ? 0 : k),
      loss: 0,
      gain: 0,
    }
  })
  const numbers = (length: number) => new Float64Array(length)
  const slab: SweptSlab = {
    coded,
    groups: groupsOf(coded),
    factor,
    rows,
    gradients,
    changes,
    grid: newGrid(),
    block: {
      first: 0,
      count: 0,
      corner: numbers(BLOCK * BLOCK),
      inverses: numbers(BLOCK),
      sums: numbers(BLOCK),
      near: numbers(BLOCK),
      errors: numbers(BLOCK),
    },
  }
  for (const { group, first: from, end: to } of blocksOf(slab)) {
    openBlock(slab, from, to)
    for (const own of rows) takeErrors(slab, own, group)
    applyChanges(slab, gradients, from, to)
  }
  return slab
}

export function openBlock({ block, factor }: SweptSlab, first: number, end: number): void {
  const { values, stride } = factor.slopes
  const { corner, inverses, sums } = block
  const count = end - first
  block.first = first
  block.count = count
  for (let i = 0; i < count; i++) {
    let sum = 0
    for (let j = 0; j < count; j++) {
      const value = values[(first + i) * stride + first + j]!
      corner[i * BLOCK + j] = value
      sum += value
    }
    sums[i] = sum
    inverses[i] = 1 / corner[i * BLOCK + i]!
  }
}

// hot
/** Computes the errors of a block of a row, as changes that the gradients lack, and its pulls. */
function takeErrors(slab: SweptSlab, own: SweptRow, group: number): void {
  const { coded, grid, block } = slab
  const { k, format, codes } = coded
  const { first, count, corner } = block
  const { row, weights, errors, changes, pulls } = own
  const { zero } = CODES[format]
  loadGroup(slab, row, group)
  for (let i = 0; i < count; i++) {
    const code = codes[row * k + first + i]! - zero
    const error = weights[first + i]! - (grid.scale * code + grid.minimum)
    errors[first + i] = error
    changes[i] = error
    if (pulls.length === 0) continue
    for (let j = 0; j < count; j++) pulls[first + j]! += code * corner[i * BLOCK + j]!
  }
}

export function loadGroup(
  { coded: { scales, minimums }, groups, grid }: Pick<SweptSlab, 'coded' | 'groups' | 'grid'>,
  row: number,
  group: number,
): void {
  const at = row * groups.ends.length + group
  loadGrid(grid, scales[at]!, minimums?.[at] ?? 0)
}

/**
 * Adds the product of H and the changes of inputs [first, end) to `sums`, [rows][k], and clears the changes.
 */
export function applyChanges(
  { rows, changes, factor }: SweptSlab,
  sums: Float32Array,
  first: number,
  end: number,
): void {
  const { k, slopes, dense } = factor
  const own = rowsOf(changes, BLOCK)
  const columns = rowsOf(slopes.values, slopes.stride, first * slopes.stride)
  dense.addProducts(own, columns, rowsOf(sums, k), rows.length, k, end - first)
  changes.fill(0)
}
