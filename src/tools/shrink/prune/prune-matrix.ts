// Prunes one matrix by a method and a pattern: returns the remaining weights and the loss of dropping the
// others.

import { HalfbyteError } from '../../../core/base/errors.ts'
import { type CodedMatrix, checkWeights, emptyMatrix, groupCount } from '../codes/coded-matrix.ts'
import { type Factor, SLAB_ROWS } from '../matrix/factor.ts'
import type { InputStats } from '../matrix/hessian.ts'
import { energy, sampledRows, takeRows } from '../matrix/mixed.ts'
import {
  type Coding,
  type GroupResult,
  type GroupTask,
  groupBytes,
  groupTasks,
  reserveGroup,
  solveGroup,
} from './group-tasks.ts'
import { inverseOf } from './inverse.ts'
import { type Mask, maskOf, type Pattern, type Scope, unitGrid } from './mask.ts'
import { sparseGpt } from './sparsegpt.ts'
import { updateWork } from './update.ts'

/** `norms`: sum x^2 of each input for Wanda; absent for magnitude. */
export function plainScores(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  pattern: Pattern,
  norms?: Float64Array,
): Float64Array {
  const [rows, width] = unitGrid(n, k, pattern)
  const scores = new Float64Array(rows * width)
  for (let row = 0; row < n; row++) {
    const to = Math.floor(row / pattern.rows) * width
    for (let i = 0; i < k; i++) {
      const weight = weights[row * k + i]!
      scores[to + Math.floor(i / pattern.inputs)]! += weight * weight * (norms?.[i] ?? 1)
    }
  }
  return meanOf(scores, n, k, pattern)
}

/** sum x^2 of each input. */
const normsOf = ({ gram, k }: Pick<InputStats, 'gram' | 'k'>): Float64Array =>
  Float64Array.from({ length: k }, (_, i) => gram[i * (k + 1)]!)

/**
 * Mean loss per weight of dropping each unit alone, w^T ([H^-1]_UU)^-1 w over its rows, [rows of
 * units][units]. Dead inputs cost nothing.
 */
function obsScores(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  inverse: ArrayLike<number>,
  pattern: Pattern,
  isDead: (input: number) => boolean,
): Float64Array {
  const [rows, width] = unitGrid(n, k, pattern)
  const scores = new Float64Array(rows * width)
  for (let unit = 0; unit < width; unit++) {
    const first = unit * pattern.inputs
    const size = Math.min(pattern.inputs, k - first)
    const own = Array.from({ length: size }, (_, i) => first + i).filter((i) => !isDead(i))
    const form = invert(own.map((a) => own.map((b) => inverse[a * k + b]!)))
    for (let row = 0; row < n; row++) {
      const w = own.map((i) => weights[row * k + i]!)
      let cost = 0
      for (let a = 0; a < w.length; a++)
        for (let b = 0; b < w.length; b++) cost += w[a]! * w[b]! * form[a]![b]!
      scores[Math.floor(row / pattern.rows) * width + unit]! += cost
    }
  }
  return meanOf(scores, n, k, pattern)
}

/** Divides sums by the number of weights of each unit, which is smaller at the edges. */
function meanOf(scores: Float64Array, n: number, k: number, { rows, inputs }: Pattern): Float64Array {
  const width = Math.ceil(k / inputs)
  return scores.map((score, unit) => {
    const top = Math.floor(unit / width) * rows
    const left = (unit % width) * inputs
    return score / (Math.min(rows, n - top) * Math.min(inputs, k - left))
  })
}

/** Inverts a small positive definite matrix in place, by elimination. */
function invert(matrix: number[][]): number[][] {
  const size = matrix.length
  for (let p = 0; p < size; p++) {
    const pivot = 1 / matrix[p]![p]!
    for (let a = 0; a < size; a++) {
      if (a === p) continue
      const factor = matrix[a]![p]! * pivot
      for (let b = 0; b < size; b++) if (b !== p) matrix[a]![b]! -= factor * matrix[p]![b]!
      matrix[a]![p] = -factor
    }
    for (let b = 0; b < size; b++) if (b !== p) matrix[p]![b]! *= pivot
    matrix[p]![p] = pivot
  }
  return matrix
}

export type PruneMethod = 'magnitude' | 'wanda' | 'sparsegpt' | 'sparsegpt-obs' | 'obs'
export const PRUNE_METHODS: readonly PruneMethod[] = [
  'obs',
  'sparsegpt-obs',
  'sparsegpt',
  'wanda',
  'magnitude',
]

/** Whether all kept weights of a row change at once, which needs H^-1. */
export const isObsUpdated = (method: PruneMethod): boolean => method === 'obs' || method === 'sparsegpt-obs'

export interface PruneOptions {
  readonly method: PruneMethod
  readonly pattern: Pattern
  /** Share of weights to drop, 0 to 1. */
  readonly sparsity: number
  /**
   * OBS: whether rows compete for weights, or each drops the same share. Default: `row` for single weights,
   * `matrix` for strips and blocks. Energy says little about small outputs, which lose nearly everything
   * when they compete.
   */
  readonly scope?: Scope | undefined
}

/** Bytes of a `Dense` for matrices of up to `n` outputs, including factor and codes. */
export const pruneBytes = (n: number, k: number): number =>
  groupBytes(k) + 8 * (3 * k * k + 3 * n * k + (n + SLAB_ROWS) * SUMS + 64 * (n + k) + 64)

/** Maximum number of inputs whose sums a solver computes together. */
const SUMS = 128

/** Reserves buffers at their largest size, because a buffer that grows wastes its old bytes. */
function reserve(factor: Factor, n: number): void {
  const { dense } = factor
  dense.room('sums', Math.max(n, SLAB_ROWS) * SUMS)
  reserveGroup(factor, Math.max(n, SLAB_ROWS))
}

/** Statistics from calibration. */
export interface Known {
  readonly stats: InputStats
  readonly factor: Factor
  /** H^-1, [k][k]. Default: `prune` computes it for the OBS update. */
  readonly inverse?: Float64Array | undefined
}

export interface Pruned {
  /** [n][k]; dropped weights are 0. */
  readonly values: Float64Array
  readonly mask: Mask
  /** Multiply-adds of the update, excluding the inverse of H; 0 if weights are not updated all at once. */
  readonly work: number
  /** If requested. */
  readonly coded?: CodedMatrix | undefined
}

/** Independent groups. `take` receives the result of each in turn. */
export type GroupSteps<Result> = Generator<readonly GroupTask[], Result, readonly GroupResult[]>

/** Throws `format` for weights that are not finite, `unsupported` for a Hessian that cannot be solved. */
export function prune(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  options: PruneOptions,
  known?: Known,
): Pruned {
  const own = known && isObsUpdated(options.method) ? withInverse(known, n) : known
  const steps = pruning(weights, n, k, options, own)
  let step = steps.next()
  while (step.done !== true) {
    step = steps.next(step.value.map((task) => solveGroup(task, (own as Known).factor, own?.inverse)))
  }
  return step.value
}

function withInverse(known: Known, n: number): Known {
  reserve(known.factor, n)
  return { ...known, inverse: known.inverse ?? inverseOf(known.factor, 'inverse') }
}

/** The same, with the groups left to the caller. `coding` needs `known`, and the OBS update its inverse. */
export function* pruning(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  options: PruneOptions & { readonly coding?: Coding | undefined },
  known?: Known,
): GroupSteps<Pruned> {
  checkWeights(weights, n, k)
  const { method, coding } = options
  if (known !== undefined && isObsUpdated(method)) {
    const mask =
      method === 'obs'
        ? obsMask(weights, n, k, options, known)
        : sequential(weights, n, k, options, known).mask
    const found = yield* solved(weights, mask, { isUpdated: true, coding })
    return { ...found, mask, work: updateWork(mask, coding !== undefined) }
  }
  const found = { ...withoutGroups(weights, n, k, options, known), work: 0 }
  if (coding === undefined) return found
  return { ...found, ...(yield* solved(found.values, found.mask, { isUpdated: false, coding })) }
}

function withoutGroups(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  { method, pattern, sparsity }: PruneOptions,
  known: Known | undefined,
): Pick<Pruned, 'values' | 'mask'> {
  if (method === 'magnitude')
    return zeroed(weights, maskOf(plainScores(weights, n, k, pattern), n, k, pattern, sparsity, 'matrix'))
  if (known === undefined) throw new HalfbyteError('internal', `${method} was called without statistics`)
  if (method === 'wanda') {
    const scores = plainScores(weights, n, k, pattern, normsOf(known.stats))
    return zeroed(weights, maskOf(scores, n, k, pattern, sparsity, 'row'))
  }
  return sequential(weights, n, k, { pattern, sparsity }, known)
}

function sequential(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  { pattern, sparsity }: Pick<PruneOptions, 'pattern' | 'sparsity'>,
  { stats, factor }: Known,
): Pick<Pruned, 'values' | 'mask'> {
  reserve(factor, n)
  return sparseGpt(weights, n, k, factor, { pattern, sparsity, isDead: deadOf(stats) })
}

const deadOf =
  ({ gram, k }: InputStats) =>
  (input: number): boolean =>
    !(gram[input * (k + 1)]! > 0)

const zeroed = (weights: ArrayLike<number>, mask: Mask): Pick<Pruned, 'values' | 'mask'> => ({
  values: Float64Array.from(weights, (weight, at) => (mask.kept[at] === 1 ? weight : 0)),
  mask,
})

function obsMask(
  weights: ArrayLike<number>,
  n: number,
  k: number,
  { pattern, sparsity, scope = pattern.rows * pattern.inputs === 1 ? 'row' : 'matrix' }: PruneOptions,
  { stats, inverse }: Known,
): Mask {
  if (inverse === undefined) throw new HalfbyteError('internal', 'obs was called without an inverse')
  const scores = obsScores(weights, n, k, inverse, pattern, deadOf(stats))
  return maskOf(scores, n, k, pattern, sparsity, scope)
}

/** Assembles the whole matrix from its groups. */
function* solved(
  weights: ArrayLike<number>,
  mask: Mask,
  how: Pick<GroupTask, 'isUpdated' | 'coding'>,
): GroupSteps<Pick<Pruned, 'values' | 'coded'>> {
  const { n, k } = mask
  const tasks = groupTasks(weights, mask, how)
  const results = yield tasks
  const values = new Float64Array(n * k)
  const coded = how.coding && emptyMatrix(how.coding.format, n, k)
  for (const [index, { rows }] of tasks.entries()) {
    const own = results[index] as GroupResult
    for (const [at, row] of rows.entries()) {
      values.set(own.values.subarray(at * k, (at + 1) * k), row * k)
      if (coded !== undefined && own.coded !== undefined) takeRow(coded, row, own.coded, at)
    }
  }
  return { values, coded }
}

function takeRow(to: CodedMatrix, row: number, from: CodedMatrix, at: number): void {
  const { k } = to
  const groups = groupCount(to.format, k)
  to.codes.set(from.codes.subarray(at * k, (at + 1) * k), row * k)
  to.scales.set(from.scales.subarray(at * groups, (at + 1) * groups), row * groups)
}

/**
 * sum ((w - v) x)^2 over outputs and calibration inputs; for large matrices, estimated from evenly spread
 * outputs.
 */
export function pruneLoss(
  weights: ArrayLike<number>,
  values: ArrayLike<number>,
  n: number,
  stats: Pick<InputStats, 'k' | 'gram'>,
): number {
  const { k } = stats
  const rows = sampledRows(n, k)
  const was = takeRows(weights, rows, k)
  const is = takeRows(values, rows, k)
  return (
    (energy(
      was.map((weight, at) => weight - is[at]!),
      stats,
    ) *
      n) /
    rows.length
  )
}
