// OBS by definition. In: a small matrix, its inputs, how to solve. Out: codes and scales, found by
// eliminating one column after another from the explicit inverse of the Hessian. Shares no arithmetic with
// the solver.
import { signedFrom } from '../../../../test/helpers/random.ts'
import { floatToHalf, halfToFloat } from '../../../core/base/half.ts'

export interface Problem {
  readonly n: number
  readonly k: number
  readonly weights: Float32Array
  /** [rows][k] */
  readonly inputs: Float32Array
}

/** Weights, and inputs that are correlated like those of real models. `dead`: inputs that are always zero. */
export function randomProblem(
  n: number,
  k: number,
  rows: number,
  seed: number,
  dead: number[] = [],
): Problem {
  const random = signedFrom(seed)
  const mix = Float64Array.from({ length: k * 6 }, () => random())
  const inputs = new Float32Array(rows * k)
  for (let row = 0; row < rows; row++) {
    const hidden = Float64Array.from({ length: 6 }, () => random())
    for (let i = 0; i < k; i++) {
      const shared = hidden.reduce((sum, h, m) => sum + h * mix[i * 6 + m]!, 0)
      inputs[row * k + i] = dead.includes(i) ? 0 : (shared + 0.3 * random()) * (1 + (i % 5))
    }
  }
  return { n, k, inputs, weights: Float32Array.from({ length: n * k }, () => random() ** 3) }
}

/** sum ((w - q) x)^2, input row by input row. */
export function measuredLoss({ n, k, weights, inputs }: Problem, stored: ArrayLike<number>): number {
  let loss = 0
  for (let at = 0; at < inputs.length; at += k) {
    for (let row = 0; row < n; row++) {
      let error = 0
      for (let i = 0; i < k; i++) error += (weights[row * k + i]! - stored[row * k + i]!) * inputs[at + i]!
      loss += error * error
    }
  }
  return loss
}

/**
 * The full sum x x^T plus damping: `damp` of the mean diagonal of live inputs, the mean itself for dead
 * ones.
 */
export function hessianOf({ k, inputs }: Problem, damp: number): number[][] {
  const h = Array.from({ length: k }, (_, a) =>
    Array.from({ length: k }, (_, b) => {
      let sum = 0
      for (let at = 0; at < inputs.length; at += k) sum += inputs[at + a]! * inputs[at + b]!
      return sum
    }),
  )
  const live = h.map((row, a) => row[a]!).filter((value) => value > 0)
  const mean = live.reduce((sum, value) => sum + value, 0) / live.length
  for (const [a, row] of h.entries()) row[a]! += row[a]! > 0 ? damp * mean : mean
  return h
}

/** Loss of a row, including damping: e H e^T. */
export function rowLoss(
  { k, weights }: Problem,
  values: ArrayLike<number>,
  h: readonly (readonly number[])[],
  row: number,
) {
  const e = Array.from({ length: k }, (_, i) => weights[row * k + i]! - values[row * k + i]!)
  return e.reduce((sum, a, i) => sum + a * h[i]!.reduce((inner, value, j) => inner + value * e[j]!, 0), 0)
}

/** Gauss-Jordan with pivots. */
export function inverseOf(matrix: readonly (readonly number[])[]): number[][] {
  const k = matrix.length
  const rows = matrix.map((row, a) => [...row, ...row.map((_, b) => (a === b ? 1 : 0))])
  for (let column = 0; column < k; column++) {
    let pivot = column
    for (let row = column; row < k; row++) {
      if (Math.abs(rows[row]![column]!) > Math.abs(rows[pivot]![column]!)) pivot = row
    }
    ;[rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!]
    const lead = rows[column]![column]!
    const unit = rows[column]!
    for (let b = 0; b < unit.length; b++) unit[b]! /= lead
    for (const row of rows) {
      const factor = row[column]!
      if (row === unit || factor === 0) continue
      for (let b = 0; b < unit.length; b++) row[b]! -= factor * unit[b]!
    }
  }
  return rows.map((row) => row.slice(k))
}

/** The nearest scale that a pack can hold. */
export const storedScale = (scale: number): number => halfToFloat(floatToHalf(scale * 256)) / 256

/** Makes a group's quantiser. */
export type QuantizerOf = (
  weights: readonly number[],
  importance: readonly number[],
) => (weight: number) => number

/**
 * Returns the stored values, [n][k]. `quantizer` makes the quantiser of a group from its weights at the time
 * when its first column is reached, or with `isStatic` from the original weights.
 */
export function obs(
  { n, k, weights }: Problem,
  hessian: readonly (readonly number[])[],
  size: number,
  quantizer: QuantizerOf,
  isStatic = false,
): Float64Array {
  const stored = new Float64Array(n * k)
  for (let row = 0; row < n; row++) {
    const w = Array.from(weights.subarray(row * k, (row + 1) * k))
    const inverse = inverseOf(hessian)
    const quantizers: ((weight: number) => number)[] = []
    const ones = w.map(() => 1)
    if (isStatic) {
      for (let at = 0; at < k; at += size)
        quantizers.push(quantizer(w.slice(at, at + size), ones.slice(at, at + size)))
    }
    for (let j = 0; j < k; j++) {
      if (!isStatic && j % size === 0) {
        const end = Math.min(k, j + size)
        // The importance of column m: the cost of an error if all later columns compensate for it.
        const importance = w.slice(j, end).map((_, m) => 1 / conditional(inverse, j, j + m))
        quantizers.push(quantizer(w.slice(j, end), importance))
      }
      const value = quantizers[Math.floor(j / size)]!(w[j]!)
      const error = (w[j]! - value) / inverse[j]![j]!
      stored[row * k + j] = value + 0
      const column = inverse.map((line) => line[j]!)
      for (let i = 0; i < k; i++) w[i]! -= error * column[i]!
      const lead = inverse[j]![j]!
      for (let a = 0; a < k; a++) {
        for (let b = 0; b < k; b++) inverse[a]![b]! -= (column[a]! * column[b]!) / lead
      }
    }
  }
  return stored
}

/** The diagonal of the inverse at column m, after the elimination of the columns from `first` up to m. */
function conditional(inverse: readonly (readonly number[])[], first: number, m: number): number {
  const left = inverse.map((row) => [...row])
  for (let j = first; j < m; j++) {
    const column = left.map((row) => row[j]!)
    for (let a = 0; a < left.length; a++) {
      for (let b = 0; b < left.length; b++) left[a]![b]! -= (column[a]! * column[b]!) / column[j]!
    }
  }
  return left[m]![m]!
}
