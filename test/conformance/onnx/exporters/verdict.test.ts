// Bounds, verdicts and tables for exporters' graphs. In: differences. Out: whether bounds cover rounding but
// nothing else, and whether wrong graphs never pass as equal.
import { expect, test } from 'vitest'
import type { Meta } from './folder.ts'
import { bounds, countsOf, largestRelative, markdownTable, verdictOf } from './verdict.ts'

const META: Meta = { exporter: 'e', family: 'f', form: 'g', kind: 'f32', prompt: 2, vocab: 2 }
const within = { found: 1e-5, most: 1e-4 }
const beyond = { found: 1e-3, most: 1e-4 }

test('differences are relative to the largest expected logit', () => {
  expect(
    largestRelative(
      [
        [1, -4],
        [2.5, 3],
      ],
      [
        [1, -4],
        [2, 3],
      ],
    ),
  ).toBe(0.125)
  expect(largestRelative([[0, 0]], [[0, 0]])).toBe(0)
  expect(largestRelative([[1, 0]], [[0, 0]])).toBe(Infinity)
})

test.each([
  ['no rows', [], []],
  [
    'a missing row',
    [[1, 2]],
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ['a short row', [[1]], [[1, 2]]],
  ['NaN', [[1, NaN]], [[1, 2]]],
  ['NaN in both', [[1, NaN]], [[1, NaN]]],
])('%s differs from everything', (_, found, wanted) => {
  expect(largestRelative(found, wanted)).toBe(Infinity)
})

test('floats have fixed bounds, and codes have bounds derived from their rounding', () => {
  expect(bounds('f32')).toEqual({ exact: 1e-4, usual: 1e-4 })
  const moved = { scales: 0.001, groups: 0.01, runtime: 0.1 }
  expect(bounds('int4', moved).exact).toBeCloseTo(0.0021, 9)
  expect(bounds('int4', moved).usual).toBeCloseTo(0.1221, 9)
  expect(() => bounds('int8')).toThrow(/int8 does not say how far rounding moves its logits/)
})

test("f16 adds the graph's own rounding when compared with the graph", () => {
  const moved = { scales: 0, groups: 0, runtime: 0.003 }
  expect(bounds('f16', moved)).toEqual({ exact: 2e-3, usual: 5e-3 })
})

test('a graph is equal only if both differences are within their bounds', () => {
  expect(verdictOf(within, within).is).toBe('equal')
  expect(verdictOf(beyond, within).is).toBe('different')
  expect(verdictOf(within, beyond).is).toBe('different')
  expect(verdictOf(within, { found: Infinity, most: 1 }).is).toBe('different')
})

test('a table has one row per graph in order, and counts the graphs that load, differ or are rejected', () => {
  const rows = [
    { meta: { ...META, family: 'z' }, verdict: verdictOf(beyond, within) },
    { meta: META, verdict: { is: 'refused', why: 'node a|b' } as const },
    { meta: { ...META, family: 'g' }, verdict: verdictOf(within, within) },
  ]
  expect(markdownTable(rows).split('\n').slice(2)).toEqual([
    '| e | g | f | refused |  | node a\\|b |',
    '| e | g | g | equal | 1.0e-5 of 1.0e-4 | 1.0e-5 of 1.0e-4 |',
    '| e | g | z | different | 1.0e-3 of 1.0e-4 | 1.0e-5 of 1.0e-4 |',
    '',
    '3 graphs: 2 load, 1 of them differ, 1 are rejected.',
  ])
  expect(countsOf([])).toBe('0 graphs: 0 load, 0 of them differ, 0 are rejected.')
})
