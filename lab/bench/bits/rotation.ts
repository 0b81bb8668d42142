// Random rotations of vectors: signs, a Hadamard transform over the power of two in the width, and a random
// orthogonal matrix over its odd factor.
//
//   x  a row of `width` = m * 2^a values, read as [2^a][m]        y = x Q, with Q = D (H / sqrt(2^a) (x) O)

/** `chance`: uniform in [0, 1). */
export class Rotation {
  readonly #width: number
  readonly #odd: number
  readonly #signs: Float64Array
  /** [m][m], orthogonal. */
  readonly #mix: Float64Array
  readonly #row: Float64Array

  constructor(width: number, chance: () => number) {
    this.#width = width
    const power = width & -width
    this.#odd = width / power
    this.#signs = Float64Array.from({ length: width }, () => (chance() < 0.5 ? -1 : 1) / Math.sqrt(power))
    this.#mix = orthogonal(this.#odd, chance)
    this.#row = new Float64Array(width)
  }

  /** Rotates, in place, the `width` values that begin at `first` and lie `stride` apart. */
  apply(values: Float32Array, first: number, stride: number): void {
    const width = this.#width
    const odd = this.#odd
    const row = this.#row
    for (let i = 0; i < width; i++) row[i] = values[first + i * stride]! * this.#signs[i]!
    for (let step = odd; step < width; step *= 2) {
      for (let from = 0; from < width; from += 2 * step) {
        for (let i = from; i < from + step; i++) {
          const low = row[i]!
          const high = row[i + step]!
          row[i] = low + high
          row[i + step] = low - high
        }
      }
    }
    for (let from = 0; from < width; from += odd) {
      for (let j = 0; j < odd; j++) {
        let sum = 0
        for (let i = 0; i < odd; i++) sum += row[from + i]! * this.#mix[i * odd + j]!
        values[first + (from + j) * stride] = sum
      }
    }
  }
}

/** The Gram-Schmidt basis of normal vectors, [m][m]. */
function orthogonal(m: number, chance: () => number): Float64Array {
  const rows = Array.from({ length: m }, () => Float64Array.from({ length: m }, () => normal(chance)))
  for (const [index, row] of rows.entries()) {
    // Twice, because rounding leaves a rest of the earlier rows.
    for (const other of [...rows.slice(0, index), ...rows.slice(0, index)]) {
      const share = row.reduce((sum, value, i) => sum + value * other[i]!, 0)
      for (let i = 0; i < m; i++) row[i]! -= share * other[i]!
    }
    const length = Math.hypot(...row)
    for (let i = 0; i < m; i++) row[i]! /= length
  }
  return Float64Array.from({ length: m * m }, (_, at) => rows[Math.floor(at / m)]![at % m]!)
}

const normal = (chance: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance())
