// Pruning and codes together. In: rows of one mask, the factor of what it keeps. Out: codes in which dropped
// weights are exact zeros, and errors are paid for by kept inputs only.
//
// What is coded is the smaller problem of H_KK: scale groups are those of the whole row without the dropped
// inputs, and the code of 0 is exact.

import {
  CODES,
  type CodedMatrix,
  emptyMatrix,
  type Format,
  groupCount,
  groupSize,
} from '../codes/coded-matrix.ts'
import type { Factor } from '../matrix/factor.ts'
import { type SolveOptions, solveCodes } from '../matrix/gptq.ts'
import { rtn } from '../matrix/rtn.ts'
import type { Compact } from './inverse.ts'

/** Formats in which a zero has a code. */
export type PrunedFormat = Exclude<Format, 'w4m_g32'>

/** `values`: [n][k], 0 where the mask drops. `compact`: the factor of H_KK. */
export function codeKept(
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

/** How many kept inputs there are up to the end of each group. */
function groupEnds(kept: Uint32Array, format: Format, k: number): Uint32Array {
  const size = groupSize(format, k)
  const ends = new Uint32Array(groupCount(format, k))
  for (const input of kept) ends[Math.floor(input / size)]!++
  for (let group = 1; group < ends.length; group++) ends[group]! += ends[group - 1]!
  return ends
}

function keptPart(factor: Factor, kept: Uint32Array, compact: Compact, { sweeps = 0 }: SolveOptions): Factor {
  const { k } = factor
  // Only sweeps read it.
  const hessian = new Float64Array(sweeps > 0 ? kept.length ** 2 : 0)
  for (let at = 0, j = 0; at < hessian.length; j++)
    for (const i of kept) hessian[at++] = factor.hessian[kept[j]! * k + i]!
  const added = Float64Array.from(kept, (input) => factor.added[input]!)
  return { ...compact, hessian, added, isOrdered: false, dead: 0 }
}
