// Exports. In: every script tracked by git. Out: a failure for each exported name that no other file uses and
// that isn't a public name of the package.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const CHECKED = /^(?:src|workers|demo|e2e|lab|scripts|test)\/.*\.(?:ts|mjs)$/
/** Bundlers and frameworks look for these by name. */
const CALLED_BY_OTHERS = /^e2e\/bundlers\/apps\//
const EXPORT = /^export (?:async |abstract )*(?:class|const|enum|function\*?|interface|let|type) +([\w$]+)/gm

const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean)
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const namesIn = (text: string) => new Set(text.match(/[\w$]+/g))

/** Exported names, each with its file, that neither occur in another file nor are public. */
function unused(texts: ReadonlyMap<string, string>, isChecked: (path: string) => boolean, api: string) {
  const counts = new Map<string, number>()
  for (const text of texts.values()) {
    for (const name of namesIn(text)) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const isPublic = namesIn(api)
  return [...texts]
    .filter(([path]) => isChecked(path))
    .flatMap(([path, text]) => [...text.matchAll(EXPORT)].map(([, name = '']) => ({ path, name })))
    .filter(({ name }) => counts.get(name) === 1 && !isPublic.has(name))
    .map(({ path, name }) => `${path} exports ${name}`)
}

test('every export is used by another file', () => {
  const paths = git('ls-files', '*.ts', '*.mts', '*.mjs', '*.js', '*.html')
  const texts = new Map(paths.map((path) => [path, read(path)]))
  const api = git('ls-files', 'docs/api').map(read).join('\n')
  expect(unused(texts, (path) => CHECKED.test(path) && !CALLED_BY_OTHERS.test(path), api)).toEqual([])
})

test('the check finds a name that no other file uses', () => {
  const texts = new Map([
    ['a.ts', 'export const used = 1\nexport function unused() {}\nexport interface Shown {}'],
    ['b.ts', "import { used } from './a.ts'"],
  ])
  expect(unused(texts, () => true, 'interface Shown')).toEqual(['a.ts exports unused'])
})
