// GPTQ: chooses codes and scales input by input, so that later inputs compensate for the errors of earlier
// ones.
//
//   w  weights      e  w minus the stored value, known for solved inputs
//   s_j = sum_{i solved, i < j} e_i C_ji
//
// The best value of input j after the errors so far is w_j + s_j / C_jj; its code is the nearest one. The
// loss grows by (C_jj (best - stored))^2. Scales of a group are fitted when its first input is reached, to
// the values that the group would take if it could be stored exactly. The scale of a whole row is fitted to
// the original weights.

import {
  CODES,
  type CodedMatrix,
  checkWeights,
  emptyMatrix,
  type Format,
  type GridFormat,
  type Groups,
  groupSize,
  groupsOf,
} from '../codes/coded-matrix.ts'
import { type Factor, type Rows, SLAB_ROWS } from './factor.ts'
import { codeOf, fitGrid, type Grid, loadGrid, newGrid, rtn, setGrid } from './grid.ts'
import { addErrors, LOSS_BLOCK as BLOCK, blockEnds, lossOf, subtractDamping, total } from './loss.ts'
import { refine } from './refine.ts'
import { targetsOf } from './targets.ts'

/** The inputs of solving a row, in addition to the factor. */
interface SlabOptions<F extends GridFormat> extends Omit<SolveOptions, 'before'> {
  readonly format: F
  /** Fraction of the inputs' drift to compensate for; see `targetsOf`. */
  readonly share: number
}

export interface Slab<F extends GridFormat = Format> {
  readonly n: number
  readonly k: number
  /** [n][k] */
  readonly weights: Float32Array
  /** Its rows of B; see `targetsOf`. */
  readonly behind?: Float64Array | undefined
  readonly options: SlabOptions<F>
}

/** The slabs of a matrix [n][k], in order. */
export function slabsOf<F extends GridFormat>({ n, k, weights, behind, options }: Slab<F>): Slab<F>[] {
  return Array.from({ length: Math.ceil(n / SLAB_ROWS) }, (_, index) => {
    const first = index * SLAB_ROWS
    const end = Math.min((index + 1) * SLAB_ROWS, n)
    return {
      n: end - first,
      k,
      options,
      weights: weights.slice(first * k, end * k),
      behind: behind?.slice(first * k, end * k),
    }
  })
}

/**
 * `drift`: D, see `targetsOf`; absent if inputs have not drifted. `lossBefore`: loss of the
 * weights' nearest codes. Throws what `gptq` throws.
 */
export function solveSlab<F extends GridFormat>(
  { n, k, weights, behind, options }: Slab<F>,
  factor: Factor,
  drift: Rows<Float32Array> | undefined,
): Solved<F> {
  const { format, share } = options
  const targets = drift === undefined ? weights : targetsOf(weights, n, k, { drift, behind }, factor, share)
  const before = drift === undefined ? undefined : rtn(weights, n, k, format)
  return gptq(targets, n, k, format, factor, { ...options, before })
}

/** The matrix of all slabs, in order. */
export function joinSlabs<F extends GridFormat>(
  { n, k, options }: Slab<F>,
  solved: readonly Solved<F>[],
): Solved<F> {
  const coded = emptyMatrix(options.format, n, k)
  let codes = 0
  let scales = 0
  let loss = 0
  let lossBefore = 0
  for (const own of solved) {
    coded.codes.set(own.coded.codes, codes)
    coded.scales.set(own.coded.scales, scales)
    coded.minimums?.set(own.coded.minimums ?? [], scales)
    codes += own.coded.codes.length
    scales += own.coded.scales.length
    loss += own.loss
    lossBefore += own.lossBefore
  }
  return { coded, loss, lossBefore }
}

/** The data for solving one group, which is compact in memory because it is read many times. */
interface Group {
  /** Inputs of a whole group. */
  readonly size: number
  /** Rows and columns of C that belong to the group, [size][size]. */
  readonly corner: Float64Array
  readonly weights: Float64Array
  readonly sums: Float64Array
  readonly errors: Float64Array
  readonly codes: Uint8Array
}

const newGroup = (size: number): Group => ({
  size,
  corner: new Float64Array(size * size),
  weights: new Float64Array(size),
  sums: new Float64Array(size),
  errors: new Float64Array(size),
  codes: new Uint8Array(size),
})

// hot
/** Chooses the codes of a group on a grid and returns its loss, or gives up once it is at least `limit`. */
function solveGroup(
  { size, corner, weights, sums, errors, codes }: Group,
  count: number,
  format: GridFormat,
  grid: Grid,
  limit = Number.POSITIVE_INFINITY,
): number {
  const { least, most, zero } = CODES[format]
  const { scale, minimum, inverse } = grid
  let loss = 0
  for (let j = 0; j < count; j++) {
    const at = j * size
    let sum = sums[j]!
    for (let i = 0; i < j; i++) sum += errors[i]! * corner[at + i]!
    const root = corner[at + j]!
    const weight = weights[j]!
    let code = Math.floor((weight + sum / root - minimum) * inverse + (zero + 0.5))
    code = code > most ? most : code < least ? least : code
    codes[j] = code
    const error = weight - (scale * (code - zero) + minimum)
    errors[j] = error
    sum += error * root
    loss += sum * sum
    if (loss >= limit) break
  }
  return loss
}

/**
 * Stretches a grid around zero, or around the middle of the codes. Returns false if the grid is unchanged or
 * invalid.
 */
function stretchGrid(
  format: GridFormat,
  grid: Grid,
  scale: number,
  minimum: number,
  stretch: number,
): boolean {
  if (scale === 0 || format === 'w8_g32') return false
  if (format !== 'w4m_g32') setGrid(grid, scale * stretch, 0)
  else if (stretch < 0) return false
  else setGrid(grid, scale * stretch, minimum + 7.5 * scale * (1 - stretch))
  return true
}

export interface Solved<F extends GridFormat = Format> {
  readonly coded: CodedMatrix<F>
  /** sum ((w - stored) x)^2 over outputs and calibration inputs. */
  readonly loss: number
  /** The loss if every code is simply the nearest one, or that of `before`. */
  readonly lossBefore: number
}

/**
 * Factors of the wider and narrower grids tried in addition to the fitted one. Negative: with the longer side
 * flipped.
 */
const STRETCHES = [0.8, 0.87, 0.93, 1.06, 1.12, -0.93, -1, -1.07]

export interface SolveOptions {
  /** Whether to try wider and narrower grids than the fitted one. Default true. */
  readonly search?: boolean | undefined
  /** Maximum sweeps of `refine` over the solution. Default 0. */
  readonly sweeps?: number | undefined
  /** The codes for which `lossBefore` is the loss. Default: the nearest codes. */
  readonly before?: CodedMatrix<GridFormat> | undefined
}

/** Throws `format` for weights or scales that cannot be encoded. */
export function gptq<F extends GridFormat>(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  format: F,
  factor: Factor,
  { search = true, sweeps = 0, before }: SolveOptions = {},
): Solved<F> {
  // The scales of groups are fitted as they are solved.
  const isFitted = before !== undefined && format !== 'w4_channel'
  const start = isFitted ? emptyMatrix(format, n, k) : rtn(weights, n, k, format)
  const lossBefore = lossOf(weights, before ?? start, factor)
  const { coded, losses } = choose(weights, start, factor, search ? STRETCHES : [])
  if (sweeps === 0) return { coded, loss: total(losses), lossBefore }
  return { coded, loss: refine(weights, coded, factor, sweeps), lossBefore }
}

/**
 * Chooses codes for the groups of `start`, whose scales only `w4_channel` reads. Does not compute their loss.
 */
export function solveCodes(
  weights: ArrayLike<number>,
  start: CodedMatrix,
  factor: Factor,
  { search = true, sweeps = 0 }: SolveOptions,
): CodedMatrix {
  const { coded } = choose(weights, start, factor, search ? STRETCHES : [])
  if (sweeps > 0) refine(weights, coded, factor, sweeps)
  return coded
}

interface Chosen<F extends GridFormat = Format> {
  readonly coded: CodedMatrix<F>
  /** Loss of each row. */
  readonly losses: Float64Array
}

function choose<F extends GridFormat>(
  weights: ArrayLike<number>,
  rounded: CodedMatrix<F>,
  factor: Factor,
  stretches: readonly number[],
): Chosen<F> {
  const { format, n, k, ends } = rounded
  if (format === 'w4_channel') return solveRows(weights, rounded, factor, stretches)
  const coded = emptyMatrix(format, n, k, ends)
  const losses = solve(weights, coded, factor, 'fitted', stretches)
  return { coded, losses }
}

/** Also solves with wider and narrower scales, and keeps the best result for each row. */
function solveRows<F extends GridFormat>(
  weights: ArrayLike<number>,
  fitted: CodedMatrix<F>,
  factor: Factor,
  stretches: readonly number[],
): Chosen<F> {
  const { n, k } = fitted
  const best = copyOf(fitted)
  const losses = solve(weights, best, factor, 'static')
  const grid = newGrid()
  for (const stretch of stretches) {
    const other = copyOf(fitted)
    for (let row = 0; row < n; row++) {
      loadGrid(grid, fitted.scales[row]!, 0)
      setGrid(grid, grid.scale * stretch, 0)
      other.scales[row] = grid.scalePattern
    }
    for (const [row, loss] of solve(weights, other, factor, 'static').entries()) {
      if (loss >= losses[row]!) continue
      losses[row] = loss
      best.scales[row] = other.scales[row]!
      best.codes.set(other.codes.subarray(row * k, (row + 1) * k), row * k)
    }
  }
  return { coded: best, losses }
}

const copyOf = <F extends GridFormat>(coded: CodedMatrix<F>): CodedMatrix<F> => ({
  ...coded,
  codes: coded.codes.slice(),
  scales: coded.scales.slice(),
})

/**
 * Fills `coded`, block by block, and returns the loss of each row. `static`: chooses codes for the existing
 * scales. `fitted`: chooses scales too.
 */
function solve(
  weights: ArrayLike<number>,
  coded: CodedMatrix<GridFormat>,
  factor: Factor,
  how: 'static' | 'fitted',
  stretches: readonly number[] = [],
): Float64Array {
  const { n, k, format } = coded
  checkWeights(weights, n, k)
  const block = how === 'fitted' ? groupSize(format, k) : BLOCK
  const work: Work = {
    weights,
    coded,
    factor,
    how,
    stretches,
    format,
    k,
    groups: groupsOf(coded),
    errors: factor.dense.room('errors', n * k),
    block,
    sums: factor.dense.floats('gradients', n * k),
    free: new Float64Array(block),
    importance: new Float64Array(block),
    grid: newGrid(),
    best: newGrid(),
    group: newGroup(block),
  }
  const losses = new Float64Array(n)
  let first = 0
  for (const end of how === 'fitted' ? work.groups.ends : blockEnds(k)) {
    if (end === first) continue
    if (how === 'fitted') takeCorner(work, first, end)
    for (let row = 0; row < n; row++) losses[row]! += solveBlock(work, row, first, end)
    addErrors(factor, work.errors, work.sums, n, first, end)
    first = end
  }
  subtractDamping(losses, work.errors, factor)
  return losses
}

interface Work {
  readonly weights: ArrayLike<number>
  readonly coded: CodedMatrix<GridFormat>
  readonly factor: Factor
  readonly how: 'static' | 'fitted'
  readonly stretches: readonly number[]
  readonly format: GridFormat
  readonly k: number
  readonly groups: Groups
  /** e, [n][k]. */
  readonly errors: Float64Array
  /** Most inputs of a block. */
  readonly block: number
  /** s of the inputs that are not solved yet, without the contribution of their own block, [n][k]. */
  readonly sums: Float32Array
  /** The values that a group would take if it could be stored exactly. */
  readonly free: Float64Array
  readonly importance: Float64Array
  readonly grid: Grid
  readonly best: Grid
  /** Used by `fitted` only. */
  readonly group: Group
}

// hot
/** Returns the block's contribution to the row's loss, including damping. */
function solveBlock(work: Work, row: number, first: number, end: number): number {
  const { coded, how, groups, grid } = work
  const { scales, minimums } = coded
  if (how === 'fitted') {
    const loss = fitBlock(work, row, first, end)
    const group = row * groups.ends.length + groups.of[first]!
    scales[group] = work.best.scalePattern
    if (minimums !== undefined) minimums[group] = work.best.minimumPattern
    return loss
  }
  let loss = 0
  for (let j = first; j < end; j++) {
    const group = row * groups.ends.length + groups.of[j]!
    loadGrid(grid, scales[group]!, minimums?.[group] ?? 0)
    loss += solveInput(work, grid, row, first, j)
  }
  return loss
}

// hot
/** Stores the best code of input j, and returns the resulting loss. */
function solveInput(
  { weights, coded, factor, format, k, errors, sums }: Work,
  grid: Grid,
  row: number,
  first: number,
  j: number,
): number {
  const base = row * k
  const { triangle } = factor
  let sum = sums[base + j]!
  for (let i = first; i < j; i++) sum += errors[base + i]! * triangle[j * k + i]!
  const root = triangle[j * k + j]!
  const weight = weights[base + j]!
  const code = codeOf(CODES[format], grid, weight + sum / root)
  coded.codes[base + j] = code
  const error = weight - (grid.scale * (code - CODES[format].zero) + grid.minimum)
  errors[base + j] = error
  sum += error * root
  return sum * sum
}

/**
 * Chooses the grid of a group, by solving the group on several candidates, and leaves its codes and errors
 * in place. Returns its loss.
 */
function fitBlock(work: Work, row: number, first: number, end: number): number {
  const { weights, coded, format, k, block, sums, free, importance, grid, best, stretches, group } = work
  const { corner } = group
  const count = end - first
  // First computes the errors that remain if each input takes its best value.
  for (let j = 0; j < count; j++) {
    let sum = sums[row * k + first + j]!
    for (let i = 0; i < j; i++) sum += free[i]! * corner[j * block + i]!
    const root = corner[j * block + j]!
    free[j] = -sum / root
    importance[j] = root * root
  }
  for (let j = 0; j < count; j++) {
    group.weights[j] = weights[row * k + first + j]!
    group.sums[j] = sums[row * k + first + j]!
    free[j] = group.weights[j]! - free[j]!
  }
  fitGrid(format, free, 0, count, grid, importance)
  const { scale, minimum } = grid
  let least = solveGroup(group, count, format, grid)
  loadGrid(best, grid.scalePattern, grid.minimumPattern)
  let isLast = true
  for (const stretch of stretches) {
    if (!stretchGrid(format, grid, scale, minimum, stretch)) continue
    const loss = solveGroup(group, count, format, grid, least)
    isLast = loss < least
    if (!isLast) continue
    least = loss
    loadGrid(best, grid.scalePattern, grid.minimumPattern)
  }
  if (!isLast) least = solveGroup(group, count, format, best)
  coded.codes.set(group.codes.subarray(0, count), row * k + first)
  work.errors.set(group.errors.subarray(0, count), row * k + first)
  return least
}

function takeCorner({ factor, k, block, group: { corner } }: Work, first: number, end: number): void {
  for (let j = first; j < end; j++) {
    const at = j * k
    corner.set(factor.triangle.subarray(at + first, at + j + 1), (j - first) * block)
  }
}
