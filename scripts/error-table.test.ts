// The page of errors. In: src/core/base/errors.ts. Out: whether every code has a row, and the page in docs/
// matches the source.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ERROR_PAGE, errorPage } from './error-table.mjs'

test('every code in the source has a row with a cause and a next step', () => {
  const source = readFileSync(new URL('../src/core/base/errors.ts', import.meta.url), 'utf8')
  const codes = [...source.matchAll(/^ {2}\| '([a-z-]+)'/gm)].map(([, code]) => code)
  expect(codes.length).toBeGreaterThan(9)
  for (const code of codes)
    expect(errorPage()).toMatch(new RegExp(`^\\| \`${code}\` \\| .+\\. \\| .+\\. \\|$`, 'm'))
})

test('the page is up to date (node scripts/error-table.mjs writes it)', () => {
  expect(readFileSync(ERROR_PAGE, 'utf8')).toBe(errorPage())
})
