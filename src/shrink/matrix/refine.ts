// Improves solved codes: in each sweep, every code and every scale takes its best value while all others stay
// fixed.
//
//   e  w minus the stored value      g = H e      The loss of a row is e . g.
//
// Changing e_j by d changes the loss by 2 d g_j + d^2 H_jj, so -g_j / H_jj is the best change of one input. A
// scale that grows by d takes d c from the errors of its group, with c = code - zero; the best d is
// (c . g) / (c H c). A minimum is a scale whose c is 1. Solving in order cannot see what later codes will be;
// a sweep can.

import { CODES, type CodedMatrix, type Groups, groupsOf } from '../codes/coded-matrix.ts'
import type { Factor } from './factor.ts'
import { codeOf, type Grid, loadGrid, newGrid, setGrid } from './grid.ts'

export const DEFAULT_SWEEPS = 8
/** A sweep that lowers the loss of a row by less than this share is its last. */
const LEAST_GAIN = 1e-4

interface Row {
  readonly coded: CodedMatrix
  readonly groups: Groups
  readonly factor: Factor
  readonly row: number
  readonly weights: Float64Array
  readonly errors: Float64Array
  readonly gradient: Float64Array
  /** What an input's error changes by for each unit of a group's scale or minimum. */
  readonly change: Float64Array
  readonly grid: Grid
}

/** Changes `coded`. Its loss, dampening included, never grows. */
export function refine(weights: ArrayLike<number>, coded: CodedMatrix, factor: Factor, sweeps: number): void {
  const { n, k } = coded
  const state = {
    coded,
    groups: groupsOf(coded),
    factor,
    grid: newGrid(),
    weights: new Float64Array(k),
    errors: new Float64Array(k),
    gradient: new Float64Array(k),
    change: new Float64Array(k),
  }
  for (let row = 0; row < n; row++) {
    const own: Row = { ...state, row }
    for (let i = 0; i < k; i++) own.weights[i] = weights[row * k + i]!
    start(own)
    let loss = lossOfRow(own)
    for (let sweep = 0; sweep < sweeps; sweep++) {
      sweepCodes(own)
      sweepScales(own)
      const next = lossOfRow(own)
      if (!(next < loss * (1 - LEAST_GAIN))) break
      loss = next
    }
  }
}

function lossOfRow({ errors, gradient }: Row): number {
  let loss = 0
  for (let i = 0; i < errors.length; i++) loss += errors[i]! * gradient[i]!
  return loss
}

/** Fills errors and gradient. */
function start(own: Row): void {
  const { coded, groups, factor, row, weights, errors, gradient, grid } = own
  const { k, format, codes } = coded
  const { zero } = CODES[format]
  for (let i = 0; i < k; i++) {
    if (groups.of[i] !== groups.of[i - 1]) loadGroup(own, groups.of[i]!)
    errors[i] = weights[i]! - (grid.scale * (codes[row * k + i]! - zero) + grid.minimum)
  }
  gradient.fill(0)
  for (let i = 0; i < k; i++) addRow(gradient, factor.hessian, i * k, errors[i]!)
}

function loadGroup({ coded: { scales, minimums }, groups, row, grid }: Row, group: number): void {
  const at = row * groups.ends.length + group
  loadGrid(grid, scales[at]!, minimums?.[at] ?? 0)
}

// hot
function addRow(gradient: Float64Array, h: Float64Array, at: number, factor: number): void {
  if (factor === 0) return
  for (let i = 0; i < gradient.length; i++) gradient[i]! += factor * h[at + i]!
}

function sweepCodes(own: Row): void {
  const { coded, groups, factor, row, weights, errors, gradient, grid } = own
  const { k, format, codes } = coded
  const { hessian } = factor
  const { zero } = CODES[format]
  for (let i = 0; i < k; i++) {
    if (groups.of[i] !== groups.of[i - 1]) loadGroup(own, groups.of[i]!)
    const wanted = weights[i]! - (errors[i]! - gradient[i]! / hessian[i * k + i]!)
    const code = codeOf(format, grid, wanted)
    if (code === codes[row * k + i]) continue
    codes[row * k + i] = code
    const error = weights[i]! - (grid.scale * (code - zero) + grid.minimum)
    addRow(gradient, hessian, i * k, error - errors[i]!)
    errors[i] = error
  }
}

function sweepScales(own: Row): void {
  const { coded, groups, row, grid, change } = own
  const { k, format, codes, scales, minimums } = coded
  const { zero } = CODES[format]
  for (const [group, end] of groups.ends.entries()) {
    const first = groups.ends[group - 1] ?? 0
    const at = row * groups.ends.length + group
    loadGroup(own, group)
    for (let i = first; i < end; i++) change[i] = codes[row * k + i]! - zero
    const before = grid.scale
    setGrid(grid, before + bestStep(own, first, end), grid.minimum)
    if (moveGroup(own, first, end, grid.scale - before)) scales[at] = grid.scalePattern
    if (minimums === undefined) continue
    loadGroup(own, group)
    change.fill(1, first, end)
    const low = grid.minimum
    setGrid(grid, grid.scale, low + bestStep(own, first, end))
    if (moveGroup(own, first, end, grid.minimum - low)) minimums[at] = grid.minimumPattern
  }
}

function bestStep({ gradient, change, factor, coded }: Row, first: number, end: number): number {
  const { k } = coded
  let slope = 0
  for (let i = first; i < end; i++) slope += change[i]! * gradient[i]!
  const curve = curvature(factor.hessian, change, k, first, end)
  return curve > 0 ? slope / curve : 0
}

function curvature(h: Float64Array, change: Float64Array, k: number, first: number, end: number): number {
  let sum = 0
  for (let i = first; i < end; i++) {
    let own = 0
    for (let j = first; j < end; j++) own += h[i * k + j]! * change[j]!
    sum += own * change[i]!
  }
  return sum
}

/** Takes `step` times `change` from the errors, if that lowers the loss after the scale was rounded. */
function moveGroup(own: Row, first: number, end: number, step: number): boolean {
  const { errors, gradient, change, factor, coded } = own
  const { k } = coded
  let slope = 0
  for (let i = first; i < end; i++) slope += change[i]! * gradient[i]!
  const gain = 2 * step * slope - step * step * curvature(factor.hessian, change, k, first, end)
  if (!(gain > 0)) return false
  for (let i = first; i < end; i++) {
    addRow(gradient, factor.hessian, i * k, -step * change[i]!)
    errors[i]! -= step * change[i]!
  }
  return true
}
