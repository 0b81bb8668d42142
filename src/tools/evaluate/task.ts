// The type of a task, the loop that runs it (several items at once, resumable), and the statistics of its
// results.
import type { EvaluatedModel } from '../../engine/score/score.ts'

export interface Estimate {
  readonly value: number
  /** Standard error; undefined for a single item. */
  readonly error: number | undefined
  /**
   * The influence of each item: how much it changes the value, to first order. Influences sum to 0. Two
   * models on the same items are compared by the differences of their influences.
   */
  readonly influence?: readonly number[]
}

/** sqrt(n / (n - 1) sum of squares): the standard error of a value with these influences. */
export function errorOf(influence: readonly number[]): number | undefined {
  const n = influence.length
  return n > 1 ? Math.sqrt((n / (n - 1)) * influence.reduce((sum, each) => sum + each * each, 0)) : undefined
}

/** Mean, and the sample's standard deviation over sqrt(n), as lm-evaluation-harness' `mean_stderr`. */
export function mean(values: readonly number[]): Estimate {
  const n = values.length
  const value = values.reduce((sum, each) => sum + each, 0) / n
  const influence = values.map((each) => (each - value) / n)
  return { value, error: errorOf(influence), influence }
}

/** The mean of several tasks' results, which are treated as independent. */
export function meanOfTasks(results: readonly Estimate[]): Estimate {
  const value = results.reduce((sum, each) => sum + each.value, 0) / results.length
  const error = Math.hypot(...results.map((each) => each.error ?? Number.NaN)) / results.length
  return { value, error: Number.isNaN(error) ? undefined : error }
}

/**
 * exp(-sum of log-likelihoods / sum of weights). Its error is that of a ratio of sums, to first order: an
 * item moves the value by -value (l_i + r w_i) / sum w, where r = -sum l / sum w. The harness resamples
 * instead.
 */
export function perplexityOf(
  logLikelihoods: readonly number[],
  weights: readonly number[] = logLikelihoods.map(() => 1),
): Estimate {
  const total = weights.reduce((sum, each) => sum + each, 0)
  const rate = -logLikelihoods.reduce((sum, each) => sum + each, 0) / total
  const value = Math.exp(rate)
  const influence = logLikelihoods.map((each, i) => (-value * (each + rate * weights[i]!)) / total)
  return { value, error: errorOf(influence), influence }
}

/** The first index of the largest value, like numpy's argmax. */
export function argmax(values: readonly number[]): number {
  let best = 0
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i
  return best
}

/** A metric's name, e.g. `acc_norm`. */
export type Metrics = Readonly<Record<string, Estimate>>

/** An item's numeric results; `metrics` needs nothing else. */
export type ItemResult = readonly number[]

export interface Task<Model = EvaluatedModel, Result = ItemResult> {
  readonly name: string
  /** Number of items. */
  readonly count: number
  /** A noun for the items, e.g. `questions`. */
  readonly unit: string
  /** The line of the data file at which an item begins, from 1. Absent if items are not lines. */
  readonly lineOf?: ((index: number) => number) | undefined
  /** Items between two calls of `keep`. Default 64. */
  readonly keptItems?: number | undefined
  /** The accuracy of guessing; undefined if the task has no choices. */
  readonly chance?: number | undefined
  /** Scores one item. Throws errors of the scheduler, or the signal's reason. */
  score(model: Model, index: number, signal: AbortSignal): Promise<Result>
  /** `results`: those of the items in order. */
  metrics(results: readonly Result[]): Metrics
  /** Notes on the metrics, such as skipped parts. */
  notes?(results: readonly Result[]): readonly string[]
}

interface RunOptions<Result = ItemResult> {
  readonly signal: AbortSignal
  /** Maximum items. Default: all. */
  readonly limit?: number | undefined
  /** Items scored concurrently, in the same steps. Default 8. */
  readonly batch?: number | undefined
  /** Results of the first items, from an earlier run. */
  readonly known?: readonly Result[] | undefined
  /** Called with all results so far, every `keptItems` items and at the end. */
  readonly keep?: ((results: readonly Result[]) => Promise<void>) | undefined
  readonly onProgress?: ((done: number, total: number) => void) | undefined
}

export const DEFAULT_BATCH = 8
const KEPT_ITEMS = 64

/** Throws what `score` and `keep` throw. */
export async function runTask<Model, Result>(
  model: Model,
  task: Task<Model, Result>,
  { signal, limit, batch = DEFAULT_BATCH, known = [], keep, onProgress }: RunOptions<Result>,
): Promise<Result[]> {
  const total = Math.min(task.count, limit ?? task.count)
  const results = known.slice(0, total)
  while (results.length < total) {
    const first = results.length
    const end = Math.min(first + (task.keptItems ?? KEPT_ITEMS), total)
    const slice: Result[] = new Array(end - first)
    let next = first
    let done = first
    const worker = async () => {
      while (next < end) {
        const index = next++
        slice[index - first] = await task.score(model, index, signal)
        onProgress?.(++done, total)
      }
    }
    // All workers finish before an error is rethrown, so none uses the model afterwards.
    const ended = await Promise.allSettled(Array.from({ length: Math.min(batch, end - first) }, worker))
    for (const each of ended) if (each.status === 'rejected') throw each.reason
    results.push(...slice)
    await keep?.(results)
  }
  return results
}
