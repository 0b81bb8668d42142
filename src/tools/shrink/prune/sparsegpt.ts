// SparseGPT: changes kept weights input by input, so that later ones compensate for the losses of earlier
// ones, and chooses masks along the way.
//
//   C  lower triangle, H = C^T C    e  w minus the new value, of the inputs before j    s_j = sum e_i C_ji
//
// The best value of input j, if all later ones are free, is w_j + s_j / C_jj. A kept input takes it and keeps
// it. Dropping it costs (C_jj value)^2, the paper's w^2 / [H^-1]_jj of the inputs that are left: 1 / C_jj is
// the diagonal of the Cholesky factor of H^-1.

import { type Factor, rowsOf } from '../matrix/factor.ts'
import { dropsOf, fullMask, keepHighest, type Mask, type Pattern } from './mask.ts'

/** Number of inputs whose mask is chosen at once. */
const BLOCK = 128

export interface Choice {
  readonly pattern: Pattern
  readonly sparsity: number
  /** True for inputs that were always zero, which are dropped first. */
  readonly isDead: (input: number) => boolean
}

interface Sequential {
  readonly values: Float64Array
  readonly mask: Mask
}

/** `how`: a mask, or how to choose one. */
export function sparseGpt(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  factor: Factor,
  how: Choice | Mask,
): Sequential {
  const { dense, triangle } = factor
  const choice = 'pattern' in how ? how : undefined
  const mask = 'pattern' in how ? fullMask(n, k) : how
  const values = new Float64Array(n * k)
  const errors = dense.room('errors', n * k)
  const nm = choice?.pattern.nm
  const block = nm === undefined ? BLOCK : BLOCK - (BLOCK % nm.of)
  const work: Work = {
    weights,
    n,
    k,
    triangle,
    errors,
    values,
    mask,
    block,
    sums: dense.room('sums', n * block),
  }
  for (let first = 0; first < k; first += block) {
    const end = Math.min(k, first + block)
    work.sums.fill(0)
    const rows = rowsOf(triangle, k, first * k)
    dense.gemm(rowsOf(errors, k), rows, rowsOf(work.sums, block), n, end - first, first, 1)
    const span = nm?.of ?? end - first
    for (let at = first; at < end; at += span) {
      const to = Math.min(end, at + span)
      if (choice !== undefined) choose(work, choice, first, at, to)
      solve(work, first, at, to)
    }
  }
  return { values, mask }
}

interface Work {
  readonly weights: ArrayLike<number>
  readonly n: number
  readonly k: number
  readonly triangle: Float64Array
  readonly errors: Float64Array
  readonly values: Float64Array
  readonly mask: Mask
  readonly block: number
  /** s without the contributions of the block's first input and later ones, [n][block]. */
  readonly sums: Float64Array
}

// hot
/** Chooses the mask of inputs [at, to) in all rows; earlier inputs are already solved. */
function choose(
  work: Work,
  { pattern, sparsity, isDead }: Choice,
  first: number,
  at: number,
  to: number,
): void {
  const { n, k, mask, triangle } = work
  const width = Math.ceil((to - at) / pattern.inputs)
  const scores = new Float64Array(Math.ceil(n / pattern.rows) * width)
  const sizes = new Float64Array(scores.length)
  const free = new Float64Array(work.block)
  for (let row = 0; row < n; row++) {
    const unitRow = Math.floor(row / pattern.rows) * width
    for (let j = at; j < to; j++) {
      const root = triangle[j * (k + 1)]!
      const step = sumOf(work, row, first, j, at, free) / root
      free[j - first] = -step
      const cost = isDead(j) ? 0 : ((work.weights[row * k + j]! + step) * root) ** 2
      const unit = unitRow + Math.floor((j - at) / pattern.inputs)
      scores[unit]! += cost
      sizes[unit]!++
    }
  }
  for (let unit = 0; unit < scores.length; unit++) scores[unit]! /= sizes[unit]!
  const { nm } = pattern
  const length = nm === undefined ? scores.length : width
  const count = nm === undefined ? Math.round(length * sparsity) : dropsOf(nm, width)
  for (let from = 0; from < scores.length; from += length) {
    const kept = keepHighest(scores, from, length, count)
    for (let i = 0; i < length; i++) {
      if (kept[i] === 1) continue
      const top = Math.floor((from + i) / width) * pattern.rows
      const left = at + ((from + i) % width) * pattern.inputs
      for (let row = top; row < Math.min(n, top + pattern.rows); row++)
        mask.kept.fill(0, row * k + left, row * k + Math.min(to, left + pattern.inputs))
    }
  }
}

// hot
/** s_j, with the actual errors before `at` and those in `free` from `at` on. */
function sumOf(
  { k, block, sums, errors, triangle }: Work,
  row: number,
  first: number,
  j: number,
  at: number,
  free: Float64Array,
): number {
  let sum = sums[row * block + j - first]!
  for (let i = first; i < at; i++) sum += errors[row * k + i]! * triangle[j * k + i]!
  for (let i = at; i < j; i++) sum += free[i - first]! * triangle[j * k + i]!
  return sum
}

// hot
function solve(
  { weights, n, k, triangle, errors, values, mask, block, sums }: Work,
  first: number,
  at: number,
  to: number,
): void {
  for (let row = 0; row < n; row++) {
    const base = row * k
    for (let j = at; j < to; j++) {
      let sum = sums[row * block + j - first]!
      for (let i = first; i < j; i++) sum += errors[base + i]! * triangle[j * k + i]!
      const weight = weights[base + j]!
      const value = mask.kept[base + j] === 1 ? weight + sum / triangle[j * (k + 1)]! : 0
      values[base + j] = value
      errors[base + j] = weight - value
    }
  }
}
