// Finds the scale and minimum of a group, rounded to their stored form, with the least squared error.
//
//   w  weight   q  code
//
// Without minimums: `searchScale` of src/core/weights/quantize-weights.ts finds the scale.
//
// With minimums: for each pair of cuts, both ends of the range are moved inwards and codes are assigned
// between them. For fixed codes, the best line through (q, w) gives scale and minimum.

import { halfTable } from '../../../core/base/half.ts'
import { SCALE_FACTOR, searchScale, shiftedFloat } from '../../../core/weights/quantize-weights.ts'
import {
  CODES,
  type CodedMatrix,
  type Codes,
  checkWeights,
  emptyMatrix,
  type GridFormat,
  groupCount,
  groupSize,
} from '../codes/coded-matrix.ts'

/** Throws `format` for weights or scales that cannot be encoded. */
export function rtn<F extends GridFormat>(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  format: F,
): CodedMatrix<F> {
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
      fitGrid(format, row, first, count, grid)
      coded.scales[r * groups + g] = grid.scalePattern
      if (coded.minimums !== undefined) coded.minimums[r * groups + g] = grid.minimumPattern
      for (let i = first; i < first + count; i++)
        coded.codes[r * k + i] = codeOf(CODES[format], grid, row[i]!)
    }
  }
  return coded
}

/** The grid of values that a group's codes represent. `fitGrid` writes it. */
export interface Grid {
  /** f16 patterns of 2^8 times scale and minimum. */
  scalePattern: number
  minimumPattern: number
  /** The stored scale and minimum. */
  scale: number
  minimum: number
  /** 1 / scale, or 0 if the scale is 0. */
  inverse: number
}

export const newGrid = (): Grid => ({ scalePattern: 0, minimumPattern: 0, scale: 0, minimum: 0, inverse: 0 })

/** Fractions of the range by which an end moves inwards. */
const CUTS = [0, 0.02, 0.05, 0.09, 0.14]

/**
 * Fits `grid` to weights[from..from+count). `importance`: how much an error in each weight matters, by the
 * same indices; default: all equally. Throws `format` for scales that do not fit in f16.
 */
export function fitGrid(
  format: GridFormat,
  weights: Float64Array,
  from: number,
  count: number,
  grid: Grid,
  importance?: Float64Array,
): void {
  if (format === 'w4m_g32') fitLine(weights, from, count, grid, importance)
  else if (format === 'w8_g32') setGrid(grid, peakOf(weights, from, count, Math.abs) / 127, 0)
  else fitScale(format, weights, from, count, grid, importance)
}

export function setGrid(grid: Grid, scale: number, minimum: number): void {
  loadGrid(grid, shiftedFloat(scale), shiftedFloat(minimum))
}

/** Sets the grid from the stored values. */
export function loadGrid(grid: Grid, scalePattern: number, minimumPattern: number): void {
  const half = halfTable()
  grid.scalePattern = scalePattern
  grid.minimumPattern = minimumPattern
  grid.scale = half[scalePattern]! / SCALE_FACTOR
  grid.minimum = half[minimumPattern]! / SCALE_FACTOR
  grid.inverse = grid.scale === 0 ? 0 : 1 / grid.scale
}

// hot
/** The code nearest to a weight; halves go up. */
export function codeOf({ least, most, zero }: Codes, { inverse, minimum }: Grid, weight: number): number {
  const code = Math.floor((weight - minimum) * inverse + (zero + 0.5))
  return code > most ? most : code < least ? least : code
}

function peakOf(weights: Float64Array, from: number, count: number, of: (weight: number) => number): number {
  let peak = Number.NEGATIVE_INFINITY
  for (let i = from; i < from + count; i++) peak = Math.max(peak, of(weights[i]!))
  return peak
}

function fitScale(
  format: GridFormat,
  weights: Float64Array,
  from: number,
  count: number,
  grid: Grid,
  importance: Float64Array | undefined,
): void {
  let peak = 0
  for (let i = from; i < from + count; i++) {
    if (Math.abs(weights[i]!) > Math.abs(peak)) peak = weights[i]!
  }
  if (peak === 0) {
    setGrid(grid, 0, 0)
    return
  }
  setGrid(grid, searchScale(weights, from, count, peak, importance, CODES[format].zero), 0)
}

function fitLine(
  weights: Float64Array,
  from: number,
  count: number,
  grid: Grid,
  importance: Float64Array | undefined,
): void {
  const low = -peakOf(weights, from, count, (weight) => -weight)
  const range = peakOf(weights, from, count, (weight) => weight) - low
  if (!(range > 0)) {
    setGrid(grid, 0, low)
    return
  }
  let least = Number.POSITIVE_INFINITY
  let scale = range / 15
  let minimum = low
  for (const below of CUTS) {
    for (const above of CUTS) {
      const first = low + below * range
      const inverse = 15 / (range * (1 - below - above))
      // Sums over the group: of h, hq, hqq, hw, hqw, hww.
      let s = 0
      let q1 = 0
      let q2 = 0
      let w1 = 0
      let qw = 0
      let w2 = 0
      for (let i = from; i < from + count; i++) {
        const weight = weights[i]!
        const h = importance === undefined ? 1 : importance[i]!
        let code = Math.floor((weight - first) * inverse + 0.5)
        code = code > 15 ? 15 : code < 0 ? 0 : code
        s += h
        q1 += h * code
        q2 += h * code * code
        w1 += h * weight
        qw += h * code * weight
        w2 += h * weight * weight
      }
      const spread = s * q2 - q1 * q1
      if (!(spread > 0)) continue
      const slope = (s * qw - q1 * w1) / spread
      const start = (w1 - slope * q1) / s
      const error = w2 - slope * qw - start * w1
      if (error < least) {
        least = error
        scale = slope
        minimum = start
      }
    }
  }
  setGrid(grid, scale, minimum)
}
