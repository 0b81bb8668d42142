// Groups. In: rows that share a mask, what is known of their inputs. Out: their updated weights, and codes if
// asked for. Groups do not depend on each other, so each is solved anywhere, to the same values.

import type { CodedMatrix } from '../codes/coded-matrix.ts'
import type { Factor } from '../matrix/factor.ts'
import type { SolveOptions } from '../matrix/gptq.ts'
import { takeRows } from '../matrix/sampled-loss.ts'
import { SLAB_ROWS } from '../matrix/slab.ts'
import { keptFactor } from './inverse.ts'
import { codeKept, type PrunedFormat } from './joint.ts'
import { type Mask, type MaskSides, rowGroups } from './mask.ts'
import { CROSS_ROWS, updateByDropped, updateByKept } from './update.ts'

/** How what is left is coded. */
export interface Coding extends Pick<SolveOptions, 'sweeps'> {
  readonly format: PrunedFormat
}

export interface GroupTask extends MaskSides {
  /** Rows of the matrix, at most `SLAB_ROWS`: larger groups are several tasks. */
  readonly rows: readonly number[]
  /** [rows][k] */
  readonly weights: Float64Array
  /** Whether kept weights make up for dropped ones. */
  readonly isUpdated: boolean
  readonly coding?: Coding | undefined
}

export interface GroupResult {
  /** [rows][k]; dropped weights are 0. */
  readonly values: Float64Array
  readonly coded?: CodedMatrix | undefined
}

/** Bytes of the rooms that tasks ask a `Dense` for. */
export const groupBytes = (k: number): number => 8 * (k * k + (4 * SLAB_ROWS + CROSS_ROWS + 64) * k + 64 * 64)

/** Rooms of their largest size: one that grows leaves its old bytes unused. */
export function reserveGroup({ dense, k }: Factor, rows = SLAB_ROWS): void {
  dense.room('compact', k * k)
  dense.room('cross', CROSS_ROWS * k)
  for (const key of ['weights', 'products', 'errors']) dense.room(key, rows * k)
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
 * `factor` must be in the model's order. `inverse`: H^-1; with it an update without codes factors the smaller
 * side. Throws `unsupported` where H_KK cannot be solved, and what `gptq` throws.
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
