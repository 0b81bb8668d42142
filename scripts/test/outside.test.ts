// Paths that leave the repository. In: the files tracked by git. Out: paths in them that lead outside the
// repository, or to a home directory.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean)

/** Names in the root: files tracked by git, and generated ones. */
const ENTRIES = new Set([
  ...files.map((path) => path.split('/')[0]),
  ...['build', 'dist', 'node_modules', 'test-results', 'playwright-report', '.cache'],
])
const TEXTS = new Set([
  '.ts',
  '.mts',
  '.mjs',
  '.js',
  '.json',
  '.py',
  '.sh',
  '.yml',
  '.vue',
  '.html',
  '.c',
  '.h',
])

/**
 * Matches a path that goes up (`../`), in quotes, backticks or brackets, or after a blank or `=`. Captures
 * the first name in it.
 */
const UPWARD = /(?:^|['"`(\s=])((?:\.\.\/)+)([\w.-]+)/g
/** Home directories. */
const HOME = /(?:^|['"`(\s=])(\/(?:home|Users|root)\/[\w.-]+)/g

/**
 * Paths in a file's text that lead outside. A module's paths start in its own folder. Other programs' paths
 * may start in the working directory, so their first name must be in the root.
 */
function outside(path: string, text: string): string[] {
  const depth = path.split('/').length - 1
  const isModule = /\.(?:[mc]?ts|[mc]?js|vue)$/.test(path)
  const upward = [...text.matchAll(UPWARD)].flatMap(([, ups = '', name = '']) => {
    const steps = ups.length / 3
    const leaves = steps > depth || (steps === depth && !isModule && !ENTRIES.has(name))
    return leaves ? [`${ups}${name}`] : []
  })
  return [...upward, ...[...text.matchAll(HOME)].map(([, found = '']) => found)]
}

test('a path that leads outside is found', () => {
  const up = '../'
  expect(outside('src/a/b.ts', `join(dir, '${up}${up}${up}shared/x')`)).toEqual([`${up}${up}${up}shared`])
  expect(outside('lab/train/a/b.py', `Path('${up}${up}${up}shared/x')`)).toEqual([`${up}${up}${up}shared`])
  expect(outside('src/a/b.ts', `'${up}${up}test/x' and '${up}c'`)).toEqual([])
  expect(outside('a.sh', `cd /${'home'}/me`)).toEqual([`/${'home'}/me`])
})

/** Paths in these files are data, such as forged names. */
const DATA = /^test\/(?:fixtures|fuzz\/corpus)\/|^src\/layers\.test\.ts$/

test('no path leads out of the repository', () => {
  const found = files
    .filter((path) => TEXTS.has(extname(path)) && !DATA.test(path))
    .flatMap((path) =>
      outside(path, readFileSync(join(ROOT, path), 'utf8')).map((each) => `${path}: ${each}`),
    )
  expect(found.join('\n')).toBe('')
})
