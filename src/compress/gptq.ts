// GPTQ. In: a matrix and the factor of its inputs' Hessian. Out: codes and scales, chosen input by input so
// that later ones pay for the errors of earlier ones; what that costs.
//
//   w  weights, in solving order      e  w minus the stored value, known for solved inputs
//   s_j = sum_{i solved, i < j} e_i C_ji
//
// The best value of input j after the errors so far is w_j + s_j / C_jj; its code is the nearest one. The loss
// grows by (C_jj (best - stored))^2. Scales of a group are fitted when its first input is reached, to the
// values that the group would take if it could be stored exactly. With inputs sorted by activation, a group's
// inputs are solved at different times: its scale is fitted to the weights as they were (static groups), as is
// the scale of a whole row.

import {
  CODES,
  type CodedMatrix,
  checkWeights,
  emptyMatrix,
  type Format,
  groupCount,
  groupSize,
} from './coded-matrix.ts'
import type { Factor } from './factor.ts'
import { codeOf, fitGrid, type Grid, loadGrid, newGrid } from './grid.ts'
import { rtn } from './rtn.ts'

export interface Solved {
  readonly coded: CodedMatrix
  /** sum ((w - stored) x)^2 over outputs and calibration inputs. */
  readonly loss: number
  /** The same when every code is chosen by its own weight alone. */
  readonly lossBefore: number
}

/** Inputs whose s is computed together. */
const BLOCK = 32

/** Throws `format` for weights or scales that no code holds. */
export function gptq(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  format: Format,
  factor: Factor,
): Solved {
  const rounded = rtn(weights, n, k, format)
  const before = solve(weights, rounded, factor, 'kept')
  const isStatic = factor.isOrdered || format === 'w4_channel'
  const coded = isStatic ? rounded : emptyMatrix(format, n, k)
  const after = solve(weights, coded, factor, isStatic ? 'static' : 'fitted')
  return { coded, loss: after, lossBefore: before }
}

/** The loss of codes that were chosen elsewhere. */
export function lossOf(weights: ArrayLike<number>, coded: CodedMatrix, factor: Factor): number {
  return solve(weights, coded, factor, 'kept')
}

/**
 * Fills `coded`, block by block, and returns the loss. `kept`: changes nothing. `static`: chooses codes for
 * the scales that are there. `fitted`: chooses scales too.
 */
function solve(
  weights: ArrayLike<number>,
  coded: CodedMatrix,
  factor: Factor,
  how: 'kept' | 'static' | 'fitted',
): number {
  const { n, k, format } = coded
  checkWeights(weights, n, k)
  const block: Block = {
    ...{ weights, coded, factor, how, format, k },
    size: groupSize(format, k),
    groups: groupCount(format, k),
    errors: new Float64Array(n * k),
    sums: new Float64Array(BLOCK),
    best: new Float64Array(BLOCK),
    importance: new Float64Array(BLOCK),
    grid: newGrid(),
  }
  let loss = 0
  for (let first = 0; first < k; first += BLOCK) {
    const end = Math.min(first + BLOCK, k)
    for (let row = 0; row < n; row++) loss += solveBlock(block, row, first, end)
  }
  const { added } = factor
  for (let row = 0; row < n; row++) {
    for (let j = 0; j < k; j++) loss -= added[j]! * block.errors[row * k + j]! ** 2
  }
  return Math.max(0, loss)
}

interface Block {
  readonly weights: ArrayLike<number>
  readonly coded: CodedMatrix
  readonly factor: Factor
  readonly how: 'kept' | 'static' | 'fitted'
  readonly format: Format
  readonly k: number
  readonly size: number
  readonly groups: number
  /** e, [n][k] in solving order. */
  readonly errors: Float64Array
  readonly sums: Float64Array
  readonly best: Float64Array
  readonly importance: Float64Array
  readonly grid: Grid
}

// hot
function solveBlock(block: Block, row: number, first: number, end: number): number {
  const { weights, coded, factor, how, format, k, size, groups, errors, sums, grid } = block
  const { triangle, order } = factor
  const { codes, scales, minimums } = coded
  const base = row * k
  earlier(errors, base, triangle, k, first, end, sums)
  if (how === 'fitted') {
    fitBlock(block, row, first, end)
    const group = row * groups + first / BLOCK
    scales[group] = grid.scalePattern
    if (minimums !== undefined) minimums[group] = grid.minimumPattern
  }
  let loss = 0
  let loaded = -1
  for (let j = first; j < end; j++) {
    const input = order[j]!
    const group = row * groups + Math.floor(input / size)
    if (how !== 'fitted' && group !== loaded) loadGrid(grid, scales[group]!, minimums?.[group] ?? 0)
    loaded = group
    let sum = sums[j - first]!
    for (let i = first; i < j; i++) sum += errors[base + i]! * triangle[j * k + i]!
    const root = triangle[j * k + j]!
    const weight = weights[base + input]!
    if (how !== 'kept') codes[base + input] = codeOf(format, grid, weight + sum / root)
    const stored = storedValue(format, grid, codes[base + input]!)
    errors[base + j] = weight - stored
    sum += (weight - stored) * root
    loss += sum * sum
  }
  return loss
}

const storedValue = (format: Format, { scale, minimum }: Grid, code: number): number =>
  scale * (code - CODES[format].zero) + minimum

/** Fits the grid to what the group's weights would be if their errors could be zero from here on. */
function fitBlock(block: Block, row: number, first: number, end: number): void {
  const { weights, factor, format, k, sums, best, importance, grid } = block
  const { triangle, order } = factor
  // What is left of e when each input takes its best value.
  const free = best
  for (let j = first; j < end; j++) {
    let sum = sums[j - first]!
    for (let i = first; i < j; i++) sum += free[i - first]! * triangle[j * k + i]!
    const root = triangle[j * k + j]!
    free[j - first] = -sum / root
    importance[j - first] = root * root
  }
  for (let j = first; j < end; j++) best[j - first] = weights[row * k + order[j]!]! - free[j - first]!
  fitGrid(format, best, 0, end - first, grid, importance)
}

// hot
/** sums[j - first] = sum over i < first of errors[base + i] * C_ji, for j in [first, end). */
function earlier(
  errors: Float64Array,
  base: number,
  c: Float64Array,
  k: number,
  first: number,
  end: number,
  sums: Float64Array,
): void {
  let j = first
  for (; j + 4 <= end; j += 4) {
    const r0 = j * k
    const r1 = r0 + k
    const r2 = r1 + k
    const r3 = r2 + k
    let s0 = 0
    let s1 = 0
    let s2 = 0
    let s3 = 0
    for (let i = 0; i < first; i++) {
      const error = errors[base + i]!
      s0 += error * c[r0 + i]!
      s1 += error * c[r1 + i]!
      s2 += error * c[r2 + i]!
      s3 += error * c[r3 + i]!
    }
    sums[j - first] = s0
    sums[j - first + 1] = s1
    sums[j - first + 2] = s2
    sums[j - first + 3] = s3
  }
  for (; j < end; j++) {
    let sum = 0
    for (let i = 0; i < first; i++) sum += errors[base + i]! * c[j * k + i]!
    sums[j - first] = sum
  }
}
