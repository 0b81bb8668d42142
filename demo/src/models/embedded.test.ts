// The embedded models. In: their files. Out: whether the page states their sizes correctly.
import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EMBEDDED } from './embedded.ts'

test.each(EMBEDDED)('$name has the size its progress bar counts up to', ({ url, bytes }) => {
  const name = /[^/]*\.hbm/.exec(url)?.[0] ?? ''
  expect(statSync(new URL(`../../models/${name}`, import.meta.url)).size).toBe(bytes)
})
