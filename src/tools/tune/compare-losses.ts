// Whether training helped: the losses of two models on the same held-out examples.
import { type Estimate, errorOf } from '../evaluate/task.ts'

/** The loss of one example: the sum over its trained tokens, in nats. */
export interface ExampleLoss {
  readonly loss: number
  readonly tokens: number
}

export type Verdict = 'better' | 'worse' | 'unclear'

export interface LossComparison {
  /** Mean losses per trained token, in nats. */
  readonly before: number
  readonly after: number
  /** After minus before; the error is that of a ratio of sums over examples. */
  readonly change: Estimate
  /** 95 % of the change; undefined if there are too few examples. */
  readonly interval: readonly [low: number, high: number] | undefined
  readonly examples: number
  readonly tokens: number
  readonly verdict: Verdict
}

/** With fewer examples, an interval says nothing. */
const LEAST_EXAMPLES = 5

/** Both lists have the same examples in the same order, at least one. */
export function compareLosses(before: readonly ExampleLoss[], after: readonly ExampleLoss[]): LossComparison {
  const tokens = sum(before.map((each) => each.tokens))
  const [first, second] = [before, after].map((all) => sum(all.map(({ loss }) => loss)) / tokens) as [
    number,
    number,
  ]
  const value = second - first
  const influence = before.map((own, i) => (after[i]!.loss - own.loss - value * own.tokens) / tokens)
  const error = errorOf(influence)
  const half =
    error === undefined || before.length < LEAST_EXAMPLES ? undefined : quantile(before.length - 1) * error
  const interval = half === undefined ? undefined : ([value - half, value + half] as const)
  return {
    before: first,
    after: second,
    change: { value, error, influence },
    interval,
    examples: before.length,
    tokens,
    verdict:
      interval === undefined ? 'unclear' : interval[1] < 0 ? 'better' : interval[0] > 0 ? 'worse' : 'unclear',
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0)

/**
 * Student's 97.5 % quantile for at least 4 degrees of freedom: the expansion around the normal quantile, off
 * by 0.3 % for 4 and by less for more.
 */
function quantile(freedom: number): number {
  const z = 1.959964
  return (
    z +
    (z ** 3 + z) / (4 * freedom) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3)
  )
}

/** One sentence for people. */
export function verdictOf({ verdict, change, interval, examples }: LossComparison): string {
  if (interval === undefined) {
    return `No verdict: ${examples} held-out examples are too few to compare on; give more data or a larger --held-out.`
  }
  const range = `${signed(interval[0])} to ${signed(interval[1])}`
  const by = `the loss changed by ${signed(change.value)} nats per token (95 % interval ${range}) on ${examples} held-out examples`
  switch (verdict) {
    case 'better':
      return `Better: ${by}.`
    case 'worse':
      return `Worse: ${by}. Fewer --epochs, a smaller --rate or more data may help.`
    case 'unclear':
      return `No better: ${by}. More data, more --epochs or a larger --rate may help.`
    default:
      return verdict satisfies never
  }
}

const signed = (value: number): string => (value < 0 ? '' : '+') + value.toFixed(3)

/** Beyond this many nats per token, the compression has undone a notable part of the training. */
const NOTABLE_COST = 0.1

/**
 * What the compression of the tuned model cost, if that is much. `float`: the loss of the float model on the
 * same examples.
 */
export function compressionNote({ after }: Pick<LossComparison, 'after'>, float: number): string | undefined {
  const cost = after - float
  if (!(cost > NOTABLE_COST)) return undefined
  return `The float model's loss was ${float.toFixed(4)}: the compression cost ${cost.toFixed(4)} nats per token. More bits (--weights w4m or w8), --method gptq or more --windows keep more of what was learned.`
}
