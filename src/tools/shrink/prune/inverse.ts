// The factor of H_KK for the kept inputs K, and inverses of H and of its parts.
import { columns, decompose, type Factor, MIN_PIVOT, rowsOf, SLAB_ROWS } from '../matrix/factor.ts'

/** H_KK = C^T C for some inputs. */
export type Compact = Pick<Factor, 'k' | 'triangle' | 'dense'>

/** Factors the part of a symmetric matrix [size][size] whose rows and columns are listed in `inputs`. */
export function factorOf(
  matrix: Float64Array,
  size: number,
  inputs: Uint32Array,
  least: number,
  { dense }: Factor,
): Compact {
  const k = inputs.length
  const triangle = dense.room('compact', k * k)
  for (let j = 0; j < k; j++) {
    const row = inputs[j]! * size
    for (let i = 0; i <= j; i++) triangle[j * k + i] = matrix[row + inputs[i]!]!
  }
  decompose('the kept inputs of a mask', triangle, k, least, 0, dense)
  return { k, triangle, dense }
}

/** The factor of H_KK. */
export function keptFactor(factor: Factor, kept: Uint32Array): Compact {
  let trace = 0
  for (const j of kept) trace += factor.hessian[j * (factor.k + 1)]!
  return factorOf(factor.hessian, factor.k, kept, (MIN_PIVOT * trace) / (kept.length || 1), factor)
}

/** H^-1, [k][k], in the buffer `key`. */
export function inverseOf(compact: Compact, key: string): Float64Array {
  const { k, dense } = compact
  const inverse = dense.room(key, k * k)
  for (const [first, end] of inverseSlabs(k)) invertRows(compact, inverse, first, end)
  return inverse
}

/** The slabs of rows of an inverse, most work first. */
export const inverseSlabs = (k: number): readonly (readonly [first: number, end: number])[] =>
  Array.from({ length: Math.ceil(k / SLAB_ROWS) }, (_, slab) => {
    const first = slab * SLAB_ROWS
    return [first, Math.min(k, first + SLAB_ROWS)] as const
  }).reverse()

/**
 * Fills rows [first, end) of H^-1 up to the diagonal, and the columns that mirror them. H^-1 = C^-1 C^-T,
 * and neither row j of C^-1 nor the needed part of row j extends beyond column j.
 */
export function invertRows(compact: Compact, inverse: Float64Array, first: number, end: number): void {
  const { k, dense } = compact
  const rows = dense.room('weights', (end - first) * end)
  for (let j = first; j < end; j++) rows[(j - first) * end + j] = 1
  divide(rows, end - first, end, compact)
  for (let j = first; j < end; j++) {
    for (let i = 0; i <= j; i++) {
      const value = rows[(j - first) * end + i]!
      inverse[j * k + i] = value
      inverse[i * k + j] = value
    }
  }
}

/** Columns divided at once. */
const BLOCK = 32

/**
 * Multiplies the [n][width] matrix `rows` by H^-1, in place, where H = C^T C: solves with C, from its last
 * column, then with C^T. If `width` is below k, only the first rows and columns of C are used.
 */
export function divide(rows: Float64Array, n: number, width: number, { k, triangle, dense }: Compact): void {
  for (let end = width; end > 0; end -= BLOCK) {
    const start = Math.max(0, end - BLOCK)
    for (let row = 0; row < n * width; row += width) {
      for (let j = end - 1; j >= start; j--) {
        const value = rows[row + j]! / triangle[j * k + j]!
        rows[row + j] = value
        for (let i = start; i < j; i++) rows[row + i]! -= value * triangle[j * k + i]!
      }
    }
    const panel = rowsOf(columns(triangle, k, start, end, dense), end - start)
    dense.gemm(rowsOf(rows, width, start), panel, rowsOf(rows, width), n, start, end - start, -1)
  }
  for (let start = 0; start < width; start += BLOCK) {
    const end = Math.min(start + BLOCK, width)
    const own = rowsOf(triangle, k, start * k)
    dense.gemm(rowsOf(rows, width), own, rowsOf(rows, width, start), n, end - start, start, -1)
    for (let row = 0; row < n * width; row += width) {
      for (let j = start; j < end; j++) {
        let sum = rows[row + j]!
        for (let i = start; i < j; i++) sum -= rows[row + i]! * triangle[j * k + i]!
        rows[row + j] = sum / triangle[j * k + j]!
      }
    }
  }
}
