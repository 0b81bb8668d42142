// Statistics. In: results of items. Out: means, perplexities and how sure they are.

export interface Estimate {
  readonly value: number
  /** Standard error; undefined when one item alone says nothing about it. */
  readonly error: number | undefined
}

/** Mean, and the sample's standard deviation over sqrt(n), as lm-evaluation-harness' `mean_stderr`. */
export function mean(values: readonly number[]): Estimate {
  const n = values.length
  const value = values.reduce((sum, each) => sum + each, 0) / n
  const squares = values.reduce((sum, each) => sum + (each - value) ** 2, 0)
  return { value, error: n > 1 ? Math.sqrt(squares / (n - 1) / n) : undefined }
}

/**
 * exp(-sum of log-likelihoods / sum of weights). Its error is that of a ratio of sums, to first order:
 * value x sqrt(n / (n - 1) sum (l_i + r w_i)^2) / sum w, where r = -sum l / sum w. The harness resamples
 * instead.
 */
export function perplexityOf(
  logLikelihoods: readonly number[],
  weights: readonly number[] = logLikelihoods.map(() => 1),
): Estimate {
  const n = logLikelihoods.length
  const total = weights.reduce((sum, each) => sum + each, 0)
  const rate = -logLikelihoods.reduce((sum, each) => sum + each, 0) / total
  const squares = logLikelihoods.reduce((sum, each, i) => sum + (each + rate * weights[i]!) ** 2, 0)
  const value = Math.exp(rate)
  return { value, error: n > 1 ? (value * Math.sqrt((n / (n - 1)) * squares)) / total : undefined }
}

/** The first index of the largest value, as numpy's argmax. */
export function argmax(values: readonly number[]): number {
  let best = 0
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i
  return best
}
