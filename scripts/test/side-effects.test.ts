// Modules with side effects. In: the sources and `sideEffects` in package.json. Out: a failure for a module
// that a bundler would drop because none of its exports is used.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const { sideEffects } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  sideEffects: readonly string[]
}
const sources = execFileSync('git', ['ls-files', 'src/**/*.ts', 'demo/src/**/*.ts'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .trim()
  .split('\n')

test('bundlers keep modules that define elements', () => {
  const defining = sources.filter((path) =>
    /^customElements\.define\(/m.test(readFileSync(join(ROOT, path), 'utf8')),
  )
  expect(defining).toContain('demo/src/shell/settings-dialog.ts')
  const dropped = defining.filter((path) => !sideEffects.some((kept) => matchesGlob(`./${path}`, kept)))
  expect(dropped).toEqual([])
})
