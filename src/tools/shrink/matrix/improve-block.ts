// Chooses the codes, the scale and the minimum of a block of a row, by the block's own part of H.
// `refine.ts` explains the symbols.

import { CODES } from '../codes/coded-matrix.ts'
import { codeOf, type Grid, loadGrid, setGrid } from './grid.ts'
import { BLOCK, loadGroup, type SweptRow, type SweptSlab } from './swept-rows.ts'

/** Maximum times that a block's codes and scale are chosen in a sweep. */
const PASSES = 3

// hot
/** Chooses the codes and the scale of a block of a row, in turn. */
export function improveBlock(slab: SweptSlab, own: SweptRow, group: number): void {
  const { block, coded } = slab
  const { first, count, near, errors } = block
  for (let i = 0; i < count; i++) {
    near[i] = own.gradient[first + i]!
    errors[i] = own.errors[first + i]!
  }
  loadGroup(slab, own.row, group)
  let isChanged = false
  for (let pass = 0; pass < PASSES; pass++) {
    const isRecoded = chooseCodes(slab, own)
    const isScaled =
      own.pulls.length > 0 &&
      (moveScale(slab, own, group) || (coded.minimums !== undefined && moveMinimum(slab, own, group)))
    if (isRecoded || isScaled) isChanged = true
    if (!isScaled) break
  }
  if (!isChanged) return
  for (let i = 0; i < count; i++) {
    own.changes[i] = errors[i]! - own.errors[first + i]!
    own.errors[first + i] = errors[i]!
  }
}

// hot
/** Returns whether a code changed. */
function chooseCodes({ coded, grid, block }: SweptSlab, own: SweptRow): boolean {
  const { first, count, corner, inverses, near, errors } = block
  const { weights, pulls } = own
  const { k, format, codes } = coded
  const range = CODES[format]
  const { zero } = range
  const base = own.row * k + first
  let gain = 0
  for (let i = 0; i < count; i++) {
    const weight = weights[first + i]!
    const code = codeOf(range, grid, weight - (errors[i]! - near[i]! * inverses[i]!))
    const last = codes[base + i]!
    if (code === last) continue
    codes[base + i] = code
    const error = weight - (grid.scale * (code - zero) + grid.minimum)
    const change = error - errors[i]!
    const at = i * BLOCK
    gain -= change * (2 * near[i]! + change * corner[at + i]!)
    for (let j = 0; j < count; j++) near[j]! += change * corner[at + j]!
    errors[i] = error
    if (pulls.length === 0) continue
    for (let j = 0; j < count; j++) pulls[first + j]! += (code - last) * corner[at + j]!
  }
  own.gain += gain
  return gain !== 0
}

// hot
/** Stores a better scale for the block's group. Returns whether there is one. */
function moveScale({ coded, groups, grid, block }: SweptSlab, own: SweptRow, group: number): boolean {
  const { first, count, near, errors } = block
  const { pulls } = own
  const { k, format, codes, scales } = coded
  const { zero } = CODES[format]
  const base = own.row * k + first
  let slope = 0
  let curve = 0
  for (let i = 0; i < count; i++) {
    const code = codes[base + i]! - zero
    slope += code * near[i]!
    curve += code * pulls[first + i]!
  }
  const step = tryStep(grid, slope, curve, 'scale')
  if (step === 0) return false
  scales[own.row * groups.ends.length + group] = grid.scalePattern
  for (let i = 0; i < count; i++) {
    errors[i]! -= step * (codes[base + i]! - zero)
    near[i]! -= step * pulls[first + i]!
  }
  own.gain += step * (2 * slope - step * curve)
  return true
}

/** The same for a minimum. */
function moveMinimum({ coded, groups, grid, block }: SweptSlab, own: SweptRow, group: number): boolean {
  const { count, sums, near, errors } = block
  let slope = 0
  let curve = 0
  for (let i = 0; i < count; i++) {
    slope += near[i]!
    curve += sums[i]!
  }
  const step = tryStep(grid, slope, curve, 'minimum')
  if (step === 0) return false
  if (coded.minimums !== undefined) coded.minimums[own.row * groups.ends.length + group] = grid.minimumPattern
  for (let i = 0; i < count; i++) {
    errors[i]! -= step
    near[i]! -= step * sums[i]!
  }
  own.gain += step * (2 * slope - step * curve)
  return true
}

/**
 * Sets the grid to the stored value nearest to the best one, and returns its change; 0 if it would not lower
 * the loss, which leaves the grid unchanged. `slope`: c . g. `curve`: c H c.
 */
export function tryStep(grid: Grid, slope: number, curve: number, what: 'scale' | 'minimum'): number {
  const { scale, minimum, scalePattern, minimumPattern } = grid
  const best = curve > 0 ? slope / curve : 0
  if (what === 'scale') setGrid(grid, scale + best, minimum)
  else setGrid(grid, scale, minimum + best)
  const step = what === 'scale' ? grid.scale - scale : grid.minimum - minimum
  if (2 * step * slope - step * step * curve > 0) return step
  loadGrid(grid, scalePattern, minimumPattern)
  return 0
}
