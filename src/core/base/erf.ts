// The error function in f64, for exact GELU.

/** Uses the Taylor series near 0 and Laplace's continued fraction further out. */
export function erf(x: number): number {
  const size = Math.abs(x)
  if (Number.isNaN(x)) return x
  if (size > 6) return Math.sign(x)
  if (size < 2.5) {
    let term = x
    let total = x
    for (let n = 1; n < 60; n++) {
      term *= (-x * x) / n
      total += term / (2 * n + 1)
    }
    return (2 / Math.sqrt(Math.PI)) * total
  }
  let fraction = 0
  for (let n = 60; n > 0; n--) fraction = n / 2 / (size + fraction)
  return Math.sign(x) * (1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / (size + fraction))
}
