// Pruning and codes together. In: pruned weights, their mask, the factor of the inputs' Hessian. Out: codes
// in which dropped weights are exact zeros, and errors are paid for by kept inputs only.
//
// Rows that share a mask are solved with an H in which each dropped input stands alone: H_PK = 0. Nothing
// flows to it or from it, its best value stays 0, and the code of 0 is exact. What is left is the problem of
// H_KK.

import { type CodedMatrix, emptyMatrix, type Format, groupCount } from '../codes/coded-matrix.ts'
import type { Factor } from '../factor.ts'
import { gptq, type SolveOptions } from '../gptq.ts'
import { keptFactor } from './inverse.ts'
import { type Mask, type RowGroup, rowGroups } from './mask.ts'

/** Formats in which a zero has a code. */
export type PrunedFormat = Exclude<Format, 'w4m_g32'>

/** `values`: 0 where the mask drops. `factor` must be in the model's order. */
export function codeKept(
  values: Float64Array,
  mask: Mask,
  format: PrunedFormat,
  factor: Factor,
  options: SolveOptions,
): CodedMatrix {
  const { n, k } = mask
  const coded = emptyMatrix(format, n, k)
  const groups = groupCount(format, k)
  const hessian = new Float64Array(k * k)
  for (const group of rowGroups(mask)) {
    const { rows } = group
    const own = new Float64Array(rows.length * k)
    for (const [index, row] of rows.entries()) own.set(values.subarray(row * k, (row + 1) * k), index * k)
    const part = gptq(own, rows.length, k, format, maskedFactor(factor, group, hessian), options).coded
    for (const [index, row] of rows.entries()) {
      coded.codes.set(part.codes.subarray(index * k, (index + 1) * k), row * k)
      coded.scales.set(part.scales.subarray(index * groups, (index + 1) * groups), row * groups)
    }
  }
  return coded
}

function maskedFactor(factor: Factor, { kept, dropped }: RowGroup, hessian: Float64Array): Factor {
  if (dropped.length === 0) return factor
  const { k, dense } = factor
  const compact = kept.length === 0 ? undefined : keptFactor(factor, kept)
  const triangle = dense.room('masked', k * k)
  hessian.fill(0)
  for (const [j, row] of kept.entries()) {
    for (const [i, input] of kept.entries()) {
      hessian[row * k + input] = factor.hessian[row * k + input]!
      if (i <= j) triangle[row * k + input] = compact!.triangle[j * compact!.k + i]!
    }
  }
  for (const p of dropped) {
    const own = factor.hessian[p * (k + 1)]!
    hessian[p * (k + 1)] = own
    triangle[p * (k + 1)] = Math.sqrt(own)
  }
  return { ...factor, triangle, hessian }
}
