// Sums H = sum x x^T over the inputs of a linear in f64, with their means and largest magnitudes.

import { HalfbyteError } from '../../../core/base/errors.ts'

/** Statistics of the inputs x of one linear layer. */
export interface InputStats {
  readonly k: number
  /** Number of inputs x. */
  readonly rows: number
  /** sum x x^T: [k][k], row j holds columns 0 to j; the rest is unused. */
  readonly gram: Float64Array
  /**
   * sum (y - x) x^T, [k][k], where y is the same input in the float model. Absent if x is already the float
   * model's input.
   */
  readonly drift?: Float64Array | undefined
  /**
   * sum (s - r) x^T, [n][k], where r is the residual that the products are added to, and s the same in the
   * float model. Absent if there is no residual.
   */
  readonly behind?: Float64Array | undefined
  /** Mean of each input, [k]. */
  readonly means: Float64Array
  /** Largest magnitude of each input, [k]. */
  readonly peaks: Float64Array
}

/** Sums batches. The result depends only on the batches and their order. */
export class InputSums {
  readonly #name: string
  readonly #k: number
  readonly #means: Float64Array
  readonly #peaks: Float64Array
  #drift: Float64Array | undefined
  #behind: Float64Array | undefined
  #rows = 0

  /** `InputStats.gram`, for callers that compute x^T x themselves. */
  readonly gram: Float64Array

  /** `name`: the linear's name, for errors. */
  constructor(name: string, k: number) {
    this.#name = name
    this.#k = k
    this.gram = new Float64Array(k * k)
    this.#means = new Float64Array(k)
    this.#peaks = new Float64Array(k)
  }

  /** `InputStats.drift`, which exists from the first call on. */
  drift(): Float64Array {
    this.#drift ??= new Float64Array(this.#k * this.#k)
    return this.#drift
  }

  /** `InputStats.behind`, which exists from the first call on. */
  behind(n: number): Float64Array {
    this.#behind ??= new Float64Array(n * this.#k)
    return this.#behind
  }

  // hot
  /** Counts inputs, [rows][k]. Throws `integrity` if one is not finite. */
  addRows(x: Float32Array): void {
    const k = this.#k
    const means = this.#means
    const peaks = this.#peaks
    for (let at = 0; at < x.length; at += k) {
      for (let i = 0; i < k; i++) {
        const value = x[at + i]!
        const size = Math.abs(value)
        means[i]! += value
        // NaN fails this comparison too.
        if (!(size <= peaks[i]!)) peaks[i] = this.#finite(size, i)
      }
    }
    this.#rows += x.length / k
  }

  // hot
  /** Counts inputs, [rows][k], and adds their x^T x, summed in f64. Throws what `addRows` throws. */
  addBatch(x: Float32Array): void {
    this.addRows(x)
    const k = this.#k
    const block = new Float64Array(k * k)
    for (let at = 0; at < x.length; at += k) {
      for (let j = 0; j < k; j++) {
        const value = x[at + j]!
        for (let i = 0; i <= j; i++) block[j * k + i]! += value * x[at + i]!
      }
    }
    for (let i = 0; i < block.length; i++) this.gram[i]! += block[i]!
  }

  done(): InputStats {
    return {
      k: this.#k,
      rows: this.#rows,
      gram: this.gram,
      drift: this.#drift,
      behind: this.#behind,
      means: this.#means.map((sum) => sum / Math.max(1, this.#rows)),
      peaks: this.#peaks,
    }
  }

  #finite(size: number, input: number): number {
    if (Number.isFinite(size)) return size
    throw new HalfbyteError(
      'integrity',
      `input ${input} of ${this.#name} became ${size} while the calibration text was run; the model or its file is damaged; download it again`,
      { matrix: this.#name, input },
    )
  }
}

/** Statistics of inputs in memory, [rows][k], summed in f64. */
export function inputStats(name: string, x: Float32Array, k: number): InputStats {
  const sums = new InputSums(name, k)
  sums.addBatch(x)
  return sums.done()
}
