// Slabs. In: some rows of a matrix, what all of them share. Out: their codes, and what those cost. Rows do
// not depend on each other, so a matrix is solved slab by slab, anywhere, to the same codes.

import { type CodedMatrix, emptyMatrix, type Format } from '../codes/coded-matrix.ts'
import type { Factor } from './factor.ts'
import { gptq, type Solved, type SolveOptions } from './gptq.ts'
import { rtn } from './rtn.ts'
import { targetsOf } from './targets.ts'

/** Rows of a slab. Losses are summed slab by slab, so this is never a matter of threads. */
export const SLAB_ROWS = 64

/** What solving a row takes besides the factor. */
export interface SlabOptions extends Omit<SolveOptions, 'before'> {
  readonly format: Format
  /** Of what inputs have drifted by; see `targetsOf`. */
  readonly share: number
}

export interface Slab {
  readonly n: number
  readonly k: number
  /** [n][k] */
  readonly weights: Float32Array
  /** Its rows of B, as `targetsOf` has it. */
  readonly behind?: Float64Array | undefined
  readonly options: SlabOptions
}

/** The slabs of a matrix [n][k], in order. */
export function slabsOf({ n, k, weights, behind, options }: Slab): Slab[] {
  return Array.from({ length: Math.ceil(n / SLAB_ROWS) }, (_, index) => {
    const [first, end] = [index * SLAB_ROWS, Math.min((index + 1) * SLAB_ROWS, n)]
    return {
      ...{ n: end - first, k, options },
      weights: weights.slice(first * k, end * k),
      behind: behind?.slice(first * k, end * k),
    }
  })
}

/**
 * `drift`: D transposed, as `targetsOf` has it; absent when inputs have not drifted. `lossBefore` is that of
 * the weights' nearest codes. Throws what `gptq` throws.
 */
export function solveSlab(
  { n, k, weights, behind, options }: Slab,
  factor: Factor,
  drift: Float64Array | undefined,
): Solved {
  const { format, share } = options
  const targets = drift === undefined ? weights : targetsOf(weights, n, k, { drift, behind }, factor, share)
  const before = drift === undefined ? undefined : rtn(weights, n, k, format)
  return gptq(targets, n, k, format, factor, { ...options, before })
}

/** The matrix of all slabs, in order. */
export function joinSlabs({ n, k, options }: Slab, solved: readonly Solved[]): Solved {
  const coded: CodedMatrix = emptyMatrix(options.format, n, k)
  let [codes, scales, loss, lossBefore] = [0, 0, 0, 0]
  for (const own of solved) {
    coded.codes.set(own.coded.codes, codes)
    coded.scales.set(own.coded.scales, scales)
    coded.minimums?.set(own.coded.minimums ?? [], scales)
    codes += own.coded.codes.length
    scales += own.coded.scales.length
    loss += own.loss
    lossBefore += own.lossBefore
  }
  return { coded, loss, lossBefore }
}
