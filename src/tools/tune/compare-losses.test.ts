// Whether training helped. In: losses of examples. Out: the change per token with its interval, and the
// verdict.
import { expect, test } from 'vitest'
import { compareLosses, compressionNote, type ExampleLoss, verdictOf } from './compare-losses.ts'

const losses = (...each: readonly (readonly [loss: number, tokens: number])[]): ExampleLoss[] =>
  each.map(([loss, tokens]) => ({ loss, tokens }))

const BEFORE = losses([20, 10], [33, 15], [21, 12], [40, 20], [18, 10], [25, 11])
const changed = (by: (index: number) => number) =>
  BEFORE.map(({ loss, tokens }, index) => ({ loss: loss + by(index) * tokens, tokens }))

test('long examples count for more tokens', () => {
  const { before, after, change } = compareLosses(losses([10, 10], [60, 30]), losses([10, 10], [30, 30]))
  expect([before, after, change.value]).toEqual([1.75, 1, -0.75])
})

test('the interval is that of the paired difference, with the quantile of few examples', () => {
  const same = losses(...Array.from({ length: 5 }, () => [10, 5] as const))
  const other = same.map(({ tokens }, index) => ({ loss: 10 + [-3, -1, 0, 1, 3][index]! * tokens, tokens }))
  const { change, interval } = compareLosses(same, other)
  // The standard error of the mean of -3, -1, 0, 1, 3 is 1, and t(0.975, 4) is 2.776.
  expect(change.value).toBeCloseTo(0, 12)
  expect(change.error).toBeCloseTo(1, 12)
  expect(interval?.[1]).toBeCloseTo(2.776, 1)
})

test.each([
  [
    'better',
    (at: number) => -1 - 0.1 * (at % 3),
    /^Better: the loss changed by -1\.\d+ nats per token \(95 %/,
  ],
  ['worse', (at: number) => 1 + 0.1 * (at % 3), /^Worse: .*Fewer --epochs/],
  ['unclear', (at: number) => (at % 2 === 0 ? 1 : -1), /^No better: /],
] as const)('a model is %s if the whole interval says so', (verdict, by, sentence) => {
  const compared = compareLosses(BEFORE, changed(by))
  expect(compared.verdict).toBe(verdict)
  expect(verdictOf(compared)).toMatch(sentence)
})

test('a large gain on too few examples is no verdict', () => {
  const few = BEFORE.slice(0, 4)
  const compared = compareLosses(few, changed(() => -1).slice(0, 4))
  expect(compared).toMatchObject({ verdict: 'unclear', interval: undefined })
  expect(verdictOf(compared)).toMatch(/^No verdict: 4 held-out examples are too few/)
})

test('a compression that undoes much of the training is reported', () => {
  expect(compressionNote({ after: 0.63 }, 0.06)).toMatch(
    /^The float model's loss was 0\.0600: the compression cost 0\.5700 nats per token\. More bits/,
  )
  expect(compressionNote({ after: 0.63 }, 0.6)).toBeUndefined()
  expect(compressionNote({ after: 0.63 }, Number.NaN)).toBeUndefined()
})
