// Building blocks of model definitions, in f64: products, norms, rotation and attention. Sums are computed in
// order.

/**
 * The products of the rows of `matrix`, [outputs, x.length] in row order, with `x`; sums start at `bias`
 * (default 0). A definition spends most of its time in these loops.
 */
export function products(
  matrix: ArrayLike<number>,
  x: ArrayLike<number>,
  bias?: ArrayLike<number>,
): Float64Array<ArrayBuffer> {
  const y = new Float64Array(matrix.length / x.length)
  for (let n = 0, at = 0; n < y.length; n++) {
    let sum = bias?.[n] ?? 0
    for (let k = 0; k < x.length; k++) sum += x[k]! * matrix[at++]!
    y[n] = sum
  }
  return y
}

export const plus = (a: Float64Array, b: ArrayLike<number>): Float64Array<ArrayBuffer> =>
  a.map((value, i) => value + b[i]!)

/** LayerNorm. `bias`: default 0. */
export function layerNorm(
  x: Float64Array,
  epsilon: number,
  weight: ArrayLike<number>,
  bias?: ArrayLike<number>,
): Float64Array<ArrayBuffer> {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length
  return x.map((value, i) => ((value - mean) / Math.sqrt(variance + epsilon)) * weight[i]! + (bias?.[i] ?? 0))
}

/** Rotates the pair (i, i + dim / 2) of each head by position * theta^(-2i / dim). */
export const rotated = (
  x: Float64Array,
  dim: number,
  position: number,
  theta: number,
): Float64Array<ArrayBuffer> =>
  x.map((value, i) => {
    const at = i % dim
    const half = dim / 2
    const angle = position * theta ** ((-2 * (at % half)) / dim)
    const other = at < half ? -x[i + half]! : x[i - half]!
    return value * Math.cos(angle) + other * Math.sin(angle)
  })

/**
 * Attention of a row's query, [heads][dim], over the values at all positions. `scoreOf` turns the product of
 * query and key into a score; -Infinity excludes the position. `shared`: heads for each head of keys and
 * values, default 1.
 */
export function attend(
  query: Float64Array,
  keys: readonly Float64Array[],
  values: readonly Float64Array[],
  dim: number,
  scoreOf: (product: number, head: number, position: number) => number,
  shared = 1,
): Float64Array<ArrayBuffer> {
  const y = new Float64Array(query.length)
  for (let head = 0; head * dim < query.length; head++) {
    const kv = Math.floor(head / shared) * dim
    const scores = keys.map((key, position) => {
      let product = 0
      for (let i = 0; i < dim; i++) product += query[head * dim + i]! * key[kv + i]!
      return scoreOf(product, head, position)
    })
    const top = Math.max(...scores)
    const shares = scores.map((score) => Math.exp(score - top))
    const total = shares.reduce((sum, share) => sum + share, 0)
    for (let i = 0; i < dim; i++)
      y[head * dim + i] = shares.reduce((sum, share, p) => sum + (share / total) * values[p]![kv + i]!, 0)
  }
  return y
}
