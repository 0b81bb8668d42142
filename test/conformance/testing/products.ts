// The products of a matrix with a vector in f64, for definitions of models.

/**
 * The products of the rows of `matrix`, [outputs, x.length] in row order, with `x`, each after its `bias`
 * (default 0) and summed in order. Most of a definition's time passes in these loops.
 */
export function products(
  matrix: ArrayLike<number>,
  x: ArrayLike<number>,
  bias?: ArrayLike<number>,
): Float64Array {
  const y = new Float64Array(matrix.length / x.length)
  for (let n = 0, at = 0; n < y.length; n++) {
    let sum = bias?.[n] ?? 0
    for (let k = 0; k < x.length; k++) sum += x[k]! * matrix[at++]!
    y[n] = sum
  }
  return y
}
