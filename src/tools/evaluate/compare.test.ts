// Comparison tables. In: measurements. Out: a table with ratios to its first row, and medians.
import { expect, test } from 'vitest'
import { type Compared, compareTable, median } from './report.ts'

const row = (name: string, factor: number): Compared => ({
  name,
  fileBytes: 2e6 * factor,
  memoryBytes: 8e6 * factor,
  perplexity: { value: 4 * factor, error: 0.1 },
  prefill: [100, 900, 200],
  decode: [10 * factor, 12 * factor],
  cpu: [5, 1, 3],
})

test('a median is the middle value, or the mean of the middle two', () => {
  expect(median([9, 1, 5])).toBe(5)
  expect(median([4, 1, 9, 2])).toBe(3)
  expect(median([])).toBeNaN()
})

test('each row is compared with the first', () => {
  expect(
    compareTable([row('dense', 1), row('a|b', 0.5)])
      .split('\n')
      .slice(2),
  ).toEqual([
    '| dense | 2.00 | 8.0 | 4.000 | 200 | 11.0 | 3.00 |',
    '| a b | 1.00 (0.50) | 4.0 (0.50) | 2.000 (0.50) | 200 (1.00) | 5.5 (0.50) | 3.00 (1.00) |',
    '',
  ])
  expect(compareTable([])).toBe('')
})

test('energy is a column only if all rows have it', () => {
  const measured = { ...row('dense', 1), energy: [40, 30, 80] }
  const [head, , first] = compareTable([measured]).split('\n')
  expect(head).toMatch(/ processor, ms\/token \| energy, mJ\/token \|$/)
  expect(first).toMatch(/ 3\.00 \| 40\.0 \|$/)
  expect(compareTable([measured, row('sparse', 0.5)])).not.toContain('energy')
})
