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
// A block of inputs takes its best values by its own part of H, which is small, and only then are its changes
// applied to the gradients of all inputs, in f32: a gradient only has to tell neighbouring codes apart. Rows
// do not depend on each other. They are processed together, so that the changes are applied as a product.

import { CODES, type CodedMatrix, type GridFormat } from '../codes/coded-matrix.ts'
import { type Factor, SLAB_ROWS } from './factor.ts'
import { improveBlock, tryStep } from './improve-block.ts'
import { subtractDamping, total } from './loss.ts'
import {
  applyChanges,
  blocksOf,
  isLong,
  loadGroup,
  openBlock,
  openSlab,
  type SweptRow,
  type SweptSlab,
} from './swept-rows.ts'

export const DEFAULT_SWEEPS = 8
/** A row's sweeps stop once one lowers its loss by less than this fraction. */
const MIN_GAIN = 1e-4

/**
 * Modifies `coded`, and returns its loss without damping. The loss, including damping, never grows by more
 * than rounding to f32.
 */
export function refine(
  weights: ArrayLike<number>,
  coded: CodedMatrix<GridFormat>,
  factor: Factor,
  sweeps: number,
): number {
  let loss = 0
  for (let first = 0; first < coded.n; first += SLAB_ROWS) {
    loss += refineSlab(openSlab(weights, coded, factor, first, Math.min(first + SLAB_ROWS, coded.n)), sweeps)
  }
  return loss
}

function refineSlab(slab: SweptSlab, sweeps: number): number {
  let active = slab.rows
  for (const own of active) own.loss = lossOfRow(own)
  for (let sweep = 0; sweep < sweeps && active.length > 0; sweep++) {
    for (const own of active) own.gain = 0
    for (const { group, first, end } of blocksOf(slab)) {
      openBlock(slab, first, end)
      for (const own of active) improveBlock(slab, own, group)
      applyChanges(slab, slab.gradients, first, end)
    }
    if (isLong(slab.coded)) sweepScales(slab, active)
    active = active.filter((own) => {
      const isLower = own.gain > MIN_GAIN * own.loss
      own.loss -= own.gain
      return isLower
    })
  }
  const losses = Float64Array.from(slab.rows, lossOfRow)
  for (const [index, { errors }] of slab.rows.entries())
    subtractDamping(losses.subarray(index, index + 1), errors, slab.factor)
  return total(losses)
}

function lossOfRow({ errors, gradient }: SweptRow): number {
  let loss = 0
  for (let i = 0; i < errors.length; i++) loss += errors[i]! * gradient[i]!
  return loss
}

/** Moves the scales of groups that are longer than a block. */
function sweepScales(slab: SweptSlab, active: readonly SweptRow[]): void {
  let first = 0
  for (const [group, end] of slab.groups.ends.entries()) {
    const pulls = pullsOf(slab, active, group)
    for (const own of active) {
      const pull = pulls.subarray((own.row - slab.rows[0]!.row) * slab.coded.k)
      moveScale(slab, own, pull, group, first, end)
    }
    first = end
  }
}

/** H c with the c of one group, [rows][k]. */
function pullsOf(slab: SweptSlab, active: readonly SweptRow[], group: number): Float32Array {
  const { coded, factor } = slab
  const { k, format, codes } = coded
  const { zero } = CODES[format]
  const pulls = factor.dense.floats('pulls', slab.rows.length * k)
  for (const { group: own, first, end } of blocksOf(slab)) {
    if (own !== group) continue
    for (const { row, changes } of active)
      for (let i = first; i < end; i++) changes[i - first] = codes[row * k + i]! - zero
    applyChanges(slab, pulls, first, end)
  }
  return pulls
}

// hot
/** Stores a better scale for the group [first, end) of a row, if there is one. */
function moveScale(
  slab: SweptSlab,
  own: SweptRow,
  pull: Float32Array,
  group: number,
  first: number,
  end: number,
): void {
  const { coded, groups, grid } = slab
  const { k, format, codes, scales } = coded
  const { zero } = CODES[format]
  const { row, errors, gradient } = own
  let slope = 0
  let curve = 0
  for (let i = first; i < end; i++) {
    const code = codes[row * k + i]! - zero
    slope += code * gradient[i]!
    curve += code * pull[i]!
  }
  loadGroup(slab, row, group)
  const step = tryStep(grid, slope, curve, 'scale')
  if (step === 0) return
  scales[row * groups.ends.length + group] = grid.scalePattern
  own.gain += step * (2 * slope - step * curve)
  for (let i = first; i < end; i++) errors[i]! -= step * (codes[row * k + i]! - zero)
  for (let i = 0; i < k; i++) gradient[i]! -= step * pull[i]!
}
