// Held-out windows. In: window counts, changes in loss. Out: how a text is split, and how a change is
// printed.
import { expect, test } from 'vitest'
import { meaningOf, qualityText, splitWindows } from './held-out.ts'

test.each([
  // text, --windows, --held-out: calibrated on, held out
  [136, 128, 8, 128, 8],
  [140, 128, 8, 128, 8],
  [130, 128, 8, 122, 8],
  [16, 128, 8, 14, 2],
  [2, 128, 8, 1, 1],
  [1, 128, 8, 1, 0],
  [0, 128, 8, 0, 0],
  [12, 4, 8, 4, 8],
  [10, 4, 8, 4, 6],
  [12, 12, 0, 12, 0],
])(
  'of %i windows, with %i and %i requested, %i are for calibration and %i for evaluation',
  (count, windows, heldOut, own, held) => {
    const all = Array.from({ length: count }, (_, at) => [at])
    const split = splitWindows(all, { windows, heldOut })
    expect([split.windows.length, split.held.length]).toEqual([own, held])
    expect(split.windows).toEqual(all.slice(0, own))
    expect(split.held).toEqual(all.slice(count - held))
  },
)

test('a change in loss, or a gain, is described in words, and a non-finite loss as a ruined model', () => {
  const of = (value: number) => meaningOf({ change: { value, error: undefined } })
  expect(of(-0.2)).toMatch(/as good as the original/)
  expect(of(0.03)).toMatch(/a little worse/)
  expect(of(0.1)).toMatch(/clearly worse/)
  expect(of(0.4)).toMatch(/lost much/)
  expect(of(2)).toMatch(/ruined; use more bytes or drop fewer weights/)
  expect(of(Number.POSITIVE_INFINITY)).toMatch(/ruined/)
  expect(of(Number.NaN)).not.toMatch(/as good/)
})

test('a change in loss is printed with its sign', () => {
  const quality = { before: 10, after: 11, kl: { value: 0.02, error: 0 }, tokens: 99 }
  const said = (value: number) =>
    qualityText({ ...quality, change: { value, error: 0.001 }, sameTop: { value: 0.9, error: 0 } })
  expect(said(0.0953)).toMatch(/perplexity 11\.000, original 10\.000 \(\+10\.0 %, \+0\.0953 ± 0\.0010 nats/)
  expect(said(-0.01)).toMatch(/\(-1\.0 %, -0\.0100 ± 0\.0010 nats/)
})
