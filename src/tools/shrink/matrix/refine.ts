// Improves solved codes: in each sweep, every code and every scale takes its best value while all others stay
// fixed.
//
//   e  w minus the stored value      g = H e      The loss of a row is e . g.
//
// Changing e_j by d changes the loss by 2 d g_j + d^2 H_jj, so -g_j / H_jj is the best change of one input. A
// scale that grows by d takes d c from the errors of its group, with c = code - zero; the best d is
// (c . g) / (c H c). A minimum is a scale whose c is 1. Solving in order does not know later codes; a sweep
// does.
//
// Rows do not depend on each other. They are processed together, so that the effect of a block's changes on g
// is a matrix product.

import { CODES, type CodedMatrix, type GridFormat, type Groups, groupsOf } from '../codes/coded-matrix.ts'
import { type Factor, PANEL_INPUTS, rowsOf, SLAB_ROWS } from './factor.ts'
import { codeOf, type Grid, loadGrid, newGrid, setGrid } from './grid.ts'

export const DEFAULT_SWEEPS = 8
/** A row's sweeps stop once one lowers its loss by less than this fraction. */
const MIN_GAIN = 1e-4
/** Inputs whose changes are applied at once. */
const BLOCK = PANEL_INPUTS

/** Some rows of a matrix. */
interface Slab {
  readonly coded: CodedMatrix<GridFormat>
  readonly groups: Groups
  readonly factor: Factor
  readonly rows: readonly Row[]
  /** g, [rows][k]. */
  readonly gradients: Float64Array
  /** Changes of a block's errors since the gradients were updated, [rows][BLOCK]. */
  readonly changes: Float64Array
  /** Columns of H, [k][inputs of the block]. */
  readonly panel: Float64Array
  /** The change of each input's error per unit of a group's scale or minimum. */
  readonly direction: Float64Array
  readonly grid: Grid
  /** The gradient of a block while its codes change. */
  readonly near: Float64Array
}

interface Row {
  /** Its index in the matrix. */
  readonly row: number
  readonly weights: Float64Array
  readonly errors: Float64Array
  /** Its part of the slab's array. */
  readonly gradient: Float64Array
  readonly changes: Float64Array
  isChanged: boolean
  loss: number
}

/** Modifies `coded`. The loss, including damping, never grows. */
export function refine(
  weights: ArrayLike<number>,
  coded: CodedMatrix<GridFormat>,
  factor: Factor,
  sweeps: number,
): void {
  for (let first = 0; first < coded.n; first += SLAB_ROWS) {
    refineSlab(openSlab(weights, coded, factor, first, Math.min(first + SLAB_ROWS, coded.n)), sweeps)
  }
}

function refineSlab(slab: Slab, sweeps: number): void {
  let active = slab.rows
  for (const own of active) own.loss = lossOfRow(own)
  for (let sweep = 0; sweep < sweeps && active.length > 0; sweep++) {
    sweepCodes(slab, active)
    sweepScales(slab, active)
    active = active.filter((own) => {
      const next = lossOfRow(own)
      const isLower = next < own.loss * (1 - MIN_GAIN)
      own.loss = next
      return isLower
    })
  }
}

function lossOfRow({ errors, gradient }: Row): number {
  let loss = 0
  for (let i = 0; i < errors.length; i++) loss += errors[i]! * gradient[i]!
  return loss
}

/** Prepares a slab, with its errors and gradients. */
function openSlab(
  weights: ArrayLike<number>,
  coded: CodedMatrix<GridFormat>,
  factor: Factor,
  first: number,
  end: number,
): Slab {
  const { k } = coded
  const { dense } = factor
  const count = end - first
  const errors = dense.room('errors', count * k)
  const gradients = dense.room('products', count * k)
  const changes = dense.room('sums', count * BLOCK)
  const rows = Array.from({ length: count }, (_, at): Row => {
    const part = (whole: Float64Array, width: number) => whole.subarray(at * width, (at + 1) * width)
    return {
      row: first + at,
      weights: Float64Array.from({ length: k }, (_, i) => weights[(first + at) * k + i]!),
      errors: part(errors, k),
      gradient: part(gradients, k),
      changes: part(changes, BLOCK),
      isChanged: false,
      loss: 0,
    }
  })
  const slab: Slab = {
    coded,
    groups: groupsOf(coded),
    factor,
    rows,
    gradients,
    changes,
    panel: dense.room('panel', BLOCK * k),
    direction: new Float64Array(k),
    grid: newGrid(),
    near: new Float64Array(BLOCK),
  }
  for (const own of rows) takeErrors(slab, own)
  for (let from = 0; from < k; from += BLOCK) {
    const to = Math.min(from + BLOCK, k)
    for (const own of rows) {
      own.changes.set(own.errors.subarray(from, to))
      own.isChanged = true
    }
    applyChanges(slab, from, to)
  }
  return slab
}

function takeErrors(slab: Slab, { row, weights, errors }: Row): void {
  const { coded, groups, grid } = slab
  const { k, format, codes } = coded
  const { zero } = CODES[format]
  for (let i = 0; i < k; i++) {
    if (groups.of[i] !== groups.of[i - 1]) loadGroup(slab, row, groups.of[i]!)
    errors[i] = weights[i]! - (grid.scale * (codes[row * k + i]! - zero) + grid.minimum)
  }
}

function loadGroup({ coded: { scales, minimums }, groups, grid }: Slab, row: number, group: number): void {
  const at = row * groups.ends.length + group
  loadGrid(grid, scales[at]!, minimums?.[at] ?? 0)
}

/** Applies the changes of inputs [first, end) to the gradients, and clears them. */
function applyChanges({ rows, changes, gradients, panel, factor }: Slab, first: number, end: number): void {
  if (!rows.some(({ isChanged }) => isChanged)) return
  const { k, hessian, dense } = factor
  const count = end - first
  for (let p = 0; p < count; p++) {
    const at = (first + p) * k
    for (let j = 0; j < k; j++) panel[j * count + p] = hessian[at + j]!
  }
  for (let from = 0; from < rows.length; from++) {
    let to = from
    while (rows[to]?.isChanged === true) rows[to++]!.isChanged = false
    if (to === from) continue
    const own = rowsOf(changes, BLOCK, from * BLOCK)
    dense.gemm(own, rowsOf(panel, count), rowsOf(gradients, k, from * k), to - from, k, count, 1)
    from = to
  }
}

function sweepCodes(slab: Slab, active: readonly Row[]): void {
  const { k } = slab.coded
  for (let first = 0; first < k; first += BLOCK) {
    const end = Math.min(first + BLOCK, k)
    for (const own of active) chooseCodes(slab, own, first, end)
    applyChanges(slab, first, end)
  }
}

// hot
function chooseCodes(slab: Slab, own: Row, first: number, end: number): void {
  const { coded, groups, factor, grid, near } = slab
  const { row, weights, errors, gradient, changes } = own
  const { k, format, codes } = coded
  const { hessian } = factor
  const { zero } = CODES[format]
  for (let i = first; i < end; i++) near[i - first] = gradient[i]!
  for (let i = first; i < end; i++) {
    if (i === first || groups.of[i] !== groups.of[i - 1]) loadGroup(slab, row, groups.of[i]!)
    const wanted = weights[i]! - (errors[i]! - near[i - first]! / hessian[i * k + i]!)
    const code = codeOf(format, grid, wanted)
    changes[i - first] = 0
    if (code === codes[row * k + i]) continue
    codes[row * k + i] = code
    const error = weights[i]! - (grid.scale * (code - zero) + grid.minimum)
    const change = error - errors[i]!
    for (let j = first; j < end; j++) near[j - first]! += change * hessian[i * k + j]!
    changes[i - first] = change
    errors[i] = error
    own.isChanged = true
  }
}

function sweepScales(slab: Slab, active: readonly Row[]): void {
  const { groups, coded } = slab
  for (const [group, end] of groups.ends.entries()) {
    const first = groups.ends[group - 1] ?? 0
    moveScales(slab, active, group, first, end, 'scale')
    if (coded.minimums !== undefined) moveScales(slab, active, group, first, end, 'minimum')
  }
}

/** Moves the scale, or the minimum, of a group in each row. */
function moveScales(
  slab: Slab,
  active: readonly Row[],
  group: number,
  first: number,
  end: number,
  what: 'scale' | 'minimum',
): void {
  const steps = active.map((own) => moveScale(slab, own, group, first, end, what))
  for (let from = first; from < end; from += BLOCK) {
    const to = Math.min(from + BLOCK, end)
    for (const [at, own] of active.entries()) {
      const step = steps[at]!
      if (step === 0) continue
      takeDirection(slab, own, from, to, what)
      for (let i = from; i < to; i++) {
        const change = -step * slab.direction[i]!
        own.changes[i - from] = change
        own.errors[i]! += change
      }
      own.isChanged = true
    }
    applyChanges(slab, from, to)
  }
}

function takeDirection(
  { coded, direction }: Slab,
  { row }: Row,
  first: number,
  end: number,
  what: 'scale' | 'minimum',
): void {
  const { k, format, codes } = coded
  const { zero } = CODES[format]
  for (let i = first; i < end; i++) direction[i] = what === 'scale' ? codes[row * k + i]! - zero : 1
}

/** Stores a better scale and returns its change; 0 if no rounded scale lowers the loss. */
function moveScale(
  slab: Slab,
  own: Row,
  group: number,
  first: number,
  end: number,
  what: 'scale' | 'minimum',
): number {
  const { coded, groups, grid, factor, direction } = slab
  const { scales, minimums, k } = coded
  const at = own.row * groups.ends.length + group
  loadGroup(slab, own.row, group)
  takeDirection(slab, own, first, end, what)
  let slope = 0
  for (let i = first; i < end; i++) slope += direction[i]! * own.gradient[i]!
  const curve = curvature(factor.hessian, direction, k, first, end)
  const { scale, minimum } = grid
  const best = curve > 0 ? slope / curve : 0
  if (what === 'scale') setGrid(grid, scale + best, minimum)
  else setGrid(grid, scale, minimum + best)
  const step = what === 'scale' ? grid.scale - scale : grid.minimum - minimum
  if (!(2 * step * slope - step * step * curve > 0)) return 0
  if (what === 'scale') scales[at] = grid.scalePattern
  else if (minimums !== undefined) minimums[at] = grid.minimumPattern
  return step
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
