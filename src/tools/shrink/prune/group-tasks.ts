// Solves rows that share a mask: updates their weights and chooses codes. Groups do not depend on each other,
// so any thread gives the same values.

import { GROUP_SIZE } from '../../../core/abi/encodings.ts'
import {
  CODES,
  type CodedMatrix,
  emptyMatrix,
  type Format,
  groupCount,
  groupSize,
} from '../codes/coded-matrix.ts'
import { type Factor, mirrorOf, PANEL_INPUTS, SLAB_ROWS, slopeStride, slopesOf } from '../matrix/factor.ts'
import { type SolveOptions, solveCodes } from '../matrix/gptq.ts'
import { rtn } from '../matrix/grid.ts'
import { takeRows } from '../matrix/mixed.ts'
import { type Compact, keptFactor } from './inverse.ts'
import { type Mask, type MaskSides, rowGroups } from './mask.ts'
import { CROSS_ROWS, updateByDropped, updateByKept } from './update.ts'

/** Formats in which zero has a code. */
export type PrunedFormat = Exclude<Format, 'w4m_g32'>

/** `values`: [n][k], 0 where the mask drops. `compact`: the factor of H_KK. */
function codeKept(
  values: Float64Array,
  kept: Uint32Array,
  format: PrunedFormat,
  factor: Factor,
  compact: Compact,
  options: SolveOptions,
): CodedMatrix {
  const { k } = factor
  const n = values.length / k
  const m = kept.length
  const own = new Float64Array(n * m)
  for (let at = 0, row = 0; at < own.length; row += k) for (const i of kept) own[at++] = values[row + i]!
  const start =
    format === 'w4_channel' ? rtn(own, n, m, format) : emptyMatrix(format, n, m, groupEnds(kept, format, k))
  const { codes, scales } = solveCodes(own, start, keptPart(factor, kept, compact, options), options)
  const whole = emptyMatrix(format, n, k)
  whole.scales.set(scales)
  whole.codes.fill(CODES[format].zero)
  for (let at = 0, row = 0; at < codes.length; row += k)
    for (const i of kept) whole.codes[row + i] = codes[at++]!
  return whole
}

/** The number of kept inputs up to the end of each group. */
function groupEnds(kept: Uint32Array, format: Format, k: number): Uint32Array {
  const size = groupSize(format, k)
  const ends = new Uint32Array(groupCount(format, k))
  for (const input of kept) ends[Math.floor(input / size)]!++
  for (let group = 1; group < ends.length; group++) ends[group]! += ends[group - 1]!
  return ends
}

function keptPart(factor: Factor, kept: Uint32Array, compact: Compact, { sweeps = 0 }: SolveOptions): Factor {
  const { k } = factor
  // Read only by sweeps.
  const hessian = new Float64Array(sweeps > 0 ? kept.length ** 2 : 0)
  for (let at = 0, j = 0; at < hessian.length; j++)
    for (const i of kept) hessian[at++] = factor.hessian[kept[j]! * k + i]!
  const added = Float64Array.from(kept, (input) => factor.added[input]!)
  const slopes = slopesOf(hessian, sweeps > 0 ? kept.length : 0, compact.dense)
  const mirror = mirrorOf(compact.triangle, kept.length, compact.dense)
  return { ...compact, hessian, slopes, mirror, added, dead: 0 }
}

/** How the kept weights are coded. */
export interface Coding extends Pick<SolveOptions, 'sweeps'> {
  readonly format: PrunedFormat
}

export interface GroupTask extends MaskSides {
  /** Rows of the matrix, at most `SLAB_ROWS`: larger groups are split into several tasks. */
  readonly rows: readonly number[]
  /** [rows][k] */
  readonly weights: Float64Array
  /** Whether kept weights compensate for dropped ones. */
  readonly isUpdated: boolean
  readonly coding?: Coding | undefined
}

export interface GroupResult {
  /** [rows][k]; dropped weights are 0. */
  readonly values: Float64Array
  readonly coded?: CodedMatrix | undefined
}

/** Bytes of the buffers that tasks request from a `Dense`. */
export const groupBytes = (k: number): number =>
  8 * (k * k + (5 * SLAB_ROWS + CROSS_ROWS + 64) * k + 128 * 64) + 8 * slopeStride(k) * k

/** Reserves buffers at their largest size, because a buffer that grows wastes its old bytes. */
export function reserveGroup({ dense, k }: Factor, rows = SLAB_ROWS): void {
  dense.room('compact', k * k)
  dense.room('cross', CROSS_ROWS * k)
  for (const key of ['weights', 'products', 'errors']) dense.room(key, rows * k)
  dense.room('panel', PANEL_INPUTS * k)
  dense.room('sums', rows * GROUP_SIZE)
  for (const key of ['slopes', 'mirror']) dense.floats(key, slopeStride(k) * k)
  dense.floats('gradients', rows * k)
  dense.floats('changes', rows * GROUP_SIZE)
  dense.floats('pulls', rows * k)
}

export function groupTasks(
  weights: ArrayLike<number>,
  mask: Mask,
  how: Pick<GroupTask, 'isUpdated' | 'coding'>,
): GroupTask[] {
  return rowGroups(mask).flatMap(({ rows, kept, dropped }) =>
    Array.from({ length: Math.ceil(rows.length / SLAB_ROWS) }, (_, part) => {
      const own = rows.slice(part * SLAB_ROWS, (part + 1) * SLAB_ROWS)
      return { ...how, kept, dropped, rows: own, weights: takeRows(weights, own, mask.k) }
    }),
  )
}

/**
 * `inverse`: H^-1; with it an update without codes factors the smaller side. Throws `unsupported` if H_KK
 * cannot be solved, and what `gptq` throws.
 */
export function solveGroup(
  { weights, kept, dropped, isUpdated, coding }: GroupTask,
  factor: Factor,
  inverse: Float64Array | undefined,
): GroupResult {
  const values = weights.slice()
  const isWhole = dropped.length === 0
  const byDropped = coding === undefined && inverse !== undefined && dropped.length < kept.length
  const needsKept = !isWhole && (coding !== undefined || (isUpdated && !byDropped))
  const compact = needsKept ? keptFactor(factor, kept) : factor
  if (isUpdated && !isWhole) {
    if (byDropped) updateByDropped(values, { kept, dropped }, factor, inverse)
    else updateByKept(values, { kept, dropped }, factor, compact)
  }
  return {
    values,
    coded: coding && codeKept(values, kept, coding.format, factor, compact, coding),
  }
}
