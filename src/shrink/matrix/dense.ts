// Dense products in f64. In: matrices by rows. Out: products added to a matrix. A solver asks for room and
// for products; where they are computed is the caller's choice.

/** Rows of a matrix: row i begins at `at` + i * `stride`. */
export interface Rows {
  readonly values: Float64Array
  readonly at: number
  readonly stride: number
}

export interface Dense {
  /**
   * Room that is used again for the same key, filled with zeros. Operands of `gemm` must come from here.
   * Throws `out-of-memory`.
   */
  room(key: string, length: number): Float64Array
  /** New numbers, all zero, that are no operands. */
  numbers(length: number): Float64Array
  /** c[i][j] += sign * sum_p a[i][p] b[j][p], with a [m][depth] and b [n][depth]. */
  gemm(a: Rows, b: Rows, c: Rows, m: number, n: number, depth: number, sign: 1 | -1): void
}

/** In TypeScript. Sums have two parts, of even and odd p, as in wasm/solve/gemm.c, with the same bits. */
export const plainDense: Dense = {
  room: (_, length) => new Float64Array(length),
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
}

/** A call of `gemm`. */
export type GemmCall = readonly [a: Rows, b: Rows, c: Rows, m: number, n: number, depth: number, sign: 1 | -1]

/** Bytes that a factor asks for; with drift also those of its transpose. */
export const factorBytes = (k: number, withDrift: boolean): number =>
  8 * ((withDrift ? 2 : 1) * k * k + 32 * k + 64)

/** Bytes that solving asks for besides the factor, for up to `n` outputs at once. */
export const slabBytes = (n: number, k: number): number => 8 * (3 * n * k + 32 * (n + k) + 64)

export const rowsOf = (values: Float64Array, stride: number, at = 0): Rows => ({ values, at, stride })
