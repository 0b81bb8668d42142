// Factors the Hessian of a linear's inputs into the triangle that says how later inputs can compensate for
// errors of earlier ones.
//
//   H  sum x x^T, plus damping on the diagonal      C  lower triangle, H = C^T C
//
// An error e of a row of weights costs e H e^T = sum_j (sum_{i <= j} e_i C_ji)^2. Term j involves no later
// input, so inputs can be solved in order, each as the best response to the errors before it. GPTQ's inverse
// Cholesky factor is C^-1; it is not needed.

import { HalfbyteError } from '../../../core/base/errors.ts'
import { LARGEST_GROUP } from '../codes/coded-matrix.ts'
import type { InputStats } from './hessian.ts'

/** Rows of a matrix: row i begins at `at` + i * `stride`. */
export interface Rows<Values = Float64Array> {
  readonly values: Values
  readonly at: number
  readonly stride: number
}

export interface Dense {
  /**
   * A buffer that is reused for the same key, filled with zeros. Operands of `gemm` must come from here.
   * Throws `out-of-memory`.
   */
  room(key: string, length: number): Float64Array
  /** A buffer of f32, for `addProducts`. */
  floats(key: string, length: number): Float32Array
  /** A new array of zeros that is not an operand. */
  numbers(length: number): Float64Array
  /** c[i][j] += sign * sum_p a[i][p] b[j][p], with a [m][depth] and b [n][depth]. */
  gemm(a: Rows, b: Rows, c: Rows, m: number, n: number, depth: number, sign: 1 | -1): void
  /**
   * c[i][j] += sum_p a[i][p] b[p][j] in f32, with a [m][depth] and b [depth][n], p ascending. Fast if a has
   * many zeros.
   */
  addProducts(
    a: Rows<Float32Array>,
    b: Rows<Float32Array>,
    c: Rows<Float32Array>,
    m: number,
    n: number,
    depth: number,
  ): void
}

/**
 * The products in TypeScript, with the bits of wasm/solve. In f64, even and odd p are summed separately.
 */
export const plainDense: Dense = {
  room: (_, length) => new Float64Array(length),
  floats: (_, length) => new Float32Array(length),
  numbers: (length) => new Float64Array(length),
  gemm(a, b, c, m, n, depth, sign) {
    const even = depth & ~1
    for (let i = 0; i < m; i++) {
      const x = a.at + i * a.stride
      for (let j = 0; j < n; j++) {
        const y = b.at + j * b.stride
        let first = 0
        let second = 0
        for (let p = 0; p < even; p += 2) {
          first += a.values[x + p]! * b.values[y + p]!
          second += a.values[x + p + 1]! * b.values[y + p + 1]!
        }
        let sum = first + second
        if (even < depth) sum += a.values[x + even]! * b.values[y + even]!
        c.values[c.at + i * c.stride + j]! += sign * sum
      }
    }
  },
  addProducts(a, b, c, m, n, depth) {
    for (let i = 0; i < m; i++) {
      const to = c.at + i * c.stride
      for (let p = 0; p < depth; p++) {
        const factor = a.values[a.at + i * a.stride + p]!
        if (factor === 0) continue
        const from = b.at + p * b.stride
        for (let j = 0; j < n; j++) c.values[to + j]! += Math.fround(factor * b.values[from + j]!)
      }
    }
  },
}

/** A call of `gemm`. */
export type GemmCall = readonly [a: Rows, b: Rows, c: Rows, m: number, n: number, depth: number, sign: 1 | -1]

/** Bytes that a factor needs, and the drift, if any. */
export const factorBytes = (k: number, withDrift: boolean): number =>
  8 * (k * k + 32 * k + 64) + 4 * (withDrift ? 3 : 2) * (slopeStride(k) * k + 4)

/** Bytes that solving needs in addition to the factor, for up to `n` outputs at once. */
export const slabBytes = (n: number, k: number): number =>
  8 * (n * k + LARGEST_GROUP * n + 64) + 4 * 4 * n * k

/**
 * Rows of H in f32 are apart by an odd number of cache lines, so that a column's lines are in different sets.
 */
export const slopeStride = (k: number): number => 32 * Math.ceil(k / 32) + 16

export const rowsOf = <Values = Float64Array>(values: Values, stride: number, at = 0): Rows<Values> => ({
  values,
  at,
  stride,
})

export interface FactorOptions {
  /** Damping: this fraction of H's mean diagonal over live inputs is added to the diagonal. Default 0.01. */
  readonly damp?: number | undefined
  /** How products are computed. Default: in TypeScript. */
  readonly dense?: Dense | undefined
}

export const DEFAULT_DAMP = 0.01

export interface Factor {
  readonly k: number
  /** [k][k]. Row j holds columns 0 to j; the rest is unused. */
  readonly triangle: Float64Array
  /** H, both triangles, including the damping. */
  readonly hessian: Float64Array
  /** `hessian` in f32, for `addProducts`. */
  readonly slopes: Rows<Float32Array>
  /** C in f32, mirrored at its diagonal, for `addProducts`. */
  readonly mirror: Rows<Float32Array>
  /** The damping that was added to the diagonal. */
  readonly added: Float64Array
  /** Number of inputs that were always zero. Errors in them cost nothing, so they are rounded. */
  readonly dead: number
  readonly dense: Dense
}

/** Rows of C applied to the rest of H at once. */
const BLOCK = 32

/**
 * Rows per slab; they are solved together. Losses are summed slab by slab, so the result does not depend on
 * the number of threads.
 */
export const SLAB_ROWS = 64
/** Maximum columns of the buffer `panel`. */
export const PANEL_INPUTS = BLOCK
/** A pivot below this fraction of the mean diagonal counts as zero plus rounding error. */
export const MIN_PIVOT = 1e-13

/** Rows of H updated at once. */
const UPDATE_ROWS = 64

/**
 * Throws `unsupported` if H cannot be solved because there is too little damping or text, `internal` without
 * inputs.
 */
export function factorize(name: string, stats: InputStats, options: FactorOptions = {}): Factor {
  return alone(factorizing(name, stats, options), options.dense)
}

/**
 * The same, step by step. The products of a step are independent of each other, but depend on earlier steps.
 */
export function* factorizing(
  name: string,
  stats: InputStats,
  options: FactorOptions = {},
): Generator<readonly GemmCall[], Factor> {
  const { k, gram } = stats
  const { damp = DEFAULT_DAMP, dense = plainDense } = options
  const diagonal = Float64Array.from({ length: k }, (_, i) => gram[i * k + i]!)
  const live = diagonal.filter((value) => value > 0)
  if (live.length === 0) throw noInputs(name, stats.rows)
  const mean = live.reduce((sum, value) => sum + value, 0) / live.length
  const hessian = bothTriangles(gram, k, dense)
  const triangle = dense.room('triangle', k * k)
  triangle.set(gram)
  const added = diagonal.map((value) => (value > 0 ? damp * mean : mean))
  for (let j = 0; j < k; j++) {
    triangle[j * k + j]! += added[j]!
    hessian[j * (k + 1)]! += added[j]!
  }
  const slopes = slopesOf(hessian, k, dense)
  yield* decomposing(name, triangle, k, MIN_PIVOT * mean, damp, dense)
  const mirror = mirrorOf(triangle, k, dense)
  return { k, dense, triangle, hessian, slopes, mirror, added, dead: k - live.length }
}

/** A lower triangle in f32, mirrored at its diagonal. */
export function mirrorOf(triangle: Float64Array, k: number, dense: Dense): Rows<Float32Array> {
  const stride = slopeStride(k)
  const values = dense.floats('mirror', stride * k)
  for (let j = 0; j < k; j++) {
    for (let i = 0; i <= j; i++) {
      const value = triangle[j * k + i]!
      values[j * stride + i] = value
      values[i * stride + j] = value
    }
  }
  return rowsOf(values, stride)
}

/** A symmetric matrix in f32. */
export function slopesOf(hessian: Float64Array, k: number, dense: Dense): Rows<Float32Array> {
  const stride = slopeStride(k)
  const values = dense.floats('slopes', stride * k)
  for (let j = 0; j < k; j++) values.set(hessian.subarray(j * k, (j + 1) * k), j * stride)
  return rowsOf(values, stride)
}

/** Runs every step on this thread. */
function alone<Result>(steps: Generator<readonly GemmCall[], Result>, dense: Dense = plainDense): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    for (const product of value) dense.gemm(...product)
  }
}

function bothTriangles(gram: Float64Array, k: number, dense: Dense): Float64Array {
  const whole = dense.numbers(k * k)
  whole.set(gram)
  for (let j = 0; j < k; j++) {
    for (let i = 0; i < j; i++) whole[i * k + j] = whole[j * k + i]!
  }
  return whole
}

/**
 * H -> C in place, from the last row up; `h` is a buffer of `dense`. Throws `unsupported` for a pivot that
 * is not above `least`.
 */
export function decompose(
  name: string,
  h: Float64Array,
  k: number,
  least: number,
  damp: number,
  dense: Dense,
): void {
  alone(decomposing(name, h, k, least, damp, dense), dense)
}

function* decomposing(
  name: string,
  h: Float64Array,
  k: number,
  least: number,
  damp: number,
  dense: Dense,
): Generator<readonly GemmCall[], void> {
  for (let end = k; end > 0; end -= BLOCK) {
    const start = Math.max(0, end - BLOCK)
    for (let j = end - 1; j >= start; j--) {
      for (let m = end - 1; m > j; m--) {
        const factor = h[m * k + j]!
        for (let a = 0; a <= j; a++) h[j * k + a]! -= factor * h[m * k + a]!
      }
      const pivot = h[j * k + j]!
      if (!(pivot > least)) throw singular(name, k - j, pivot, damp)
      const root = Math.sqrt(pivot)
      for (let a = 0; a <= j; a++) h[j * k + a]! /= root
    }
    if (start > 0) yield blockProducts(h, k, start, end, dense)
  }
}

/** Calls that subtract the contribution of rows [start, end) of C from the rows of H before `start`. */
function blockProducts(h: Float64Array, k: number, start: number, end: number, dense: Dense): GemmCall[] {
  const panel = rowsOf(columns(h, k, start, end, dense), end - start)
  const products: GemmCall[] = []
  for (let b = 0; b < start; b += UPDATE_ROWS) {
    const last = Math.min(b + UPDATE_ROWS, start)
    const rows = { ...panel, at: b * panel.stride }
    // The upper triangle of H is unused, so whatever the corner of a block writes there is harmless.
    products.push([rows, panel, rowsOf(h, k, b * k), last - b, last, end - start, -1])
  }
  return products
}

/** Rows [start, end) of C before column `start`, transposed: [start][end - start]. */
export function columns(c: Float64Array, k: number, start: number, end: number, dense: Dense): Float64Array {
  const count = end - start
  const panel = dense.room('panel', start * count)
  for (let j = 0; j < count; j++) {
    for (let i = 0; i < start; i++) panel[i * count + j] = c[(start + j) * k + i]!
  }
  return panel
}

function noInputs(name: string, rows: number): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `all ${rows} inputs of ${name} in the calibration text are zero, so nothing can be learned from them; use another text or --method rtn`,
    { matrix: name, rows },
  )
}

function singular(name: string, rank: number, pivot: number, damp: number): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `the Hessian of ${name} is singular after ${rank} inputs (pivot ${pivot.toExponential(2)}) with damping ${damp}; raise --damp, for example to ${DEFAULT_DAMP}, or use more calibration text`,
    { matrix: name, pivot, damp },
  )
}
