// The table of bundlers. In: docs/guide/bundlers.md and the tests' own list. Out: a failure for each cell
// without a test.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { BUNDLERS } from '../e2e/bundlers/table.ts'

test("the guide's table has a row for each bundler, with yes if a test runs it", () => {
  const page = readFileSync(new URL('../docs/guide/bundlers.md', import.meta.url), 'utf8')
  const rows = page
    .split('\n')
    .filter((line) => line.split(' | ').length === 6 && !line.startsWith('| bundler'))
    .map((line) => line.slice(2).split(' | ').slice(0, 5))
  const yes = ['yes', 'yes']
  const expected = BUNDLERS.map(({ name, dev }) => [name, ...yes, ...(dev === undefined ? ['-', '-'] : yes)])
  expect(rows).toEqual([...expected, ['none', ...yes, '-', '-']])
})
