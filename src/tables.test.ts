// Tables. In: every source file of the library and the page. Out: a failure for each object that is indexed
// by strings that may be untrusted, because every object has `toString` and `__proto__`. Such a table must be
// a Map.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')

/**
 * Names of constants and fields whose values are objects with arbitrary strings as keys; copies are not
 * tables.
 */
const DECLARED = /(?:const |readonly )(#?\w+): [^=\n]*\bRecord<\s*string,[^=]*?> = \{(?! \.\.\.\w)/g

function sources(): { path: string; text: string }[] {
  return ['src', 'demo/src'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|(^|[\\/])testing[\\/]/.test(path))
      .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(join(ROOT, folder, path), 'utf8') })),
  )
}

/** Objects with string keys that are read by a key, and objects whose keys are asserted with a cast. */
function indexed(files: readonly { path: string; text: string }[]): string[] {
  return files.flatMap(({ path, text }) => {
    const names = [...text.matchAll(DECLARED)].map(([, name]) => name as string)
    const read = names.filter((name) => {
      const uses = text.matchAll(
        new RegExp(`(?<![\\w.])(?:this\\.)?${name}\\??\\.?\\[(?!['"])[^\\]]*\\](?! = )`, 'g'),
      )
      return [...uses].length > 0
    })
    const asserted = text
      .split('\n')
      .filter((line) => /\[[^\]]* as keyof typeof \w+\]/.test(line) && !line.includes('Object.hasOwn('))
    return [...read.map((name) => `${path}: ${name}`), ...asserted.map((line) => `${path}: ${line.trim()}`)]
  })
}

test('no object is a table that is indexed by untrusted strings', () => {
  expect(indexed(sources())).toEqual([])
})

test('the check detects constants, fields and asserted keys', () => {
  const table = 'const UNITS: Readonly<Record<string, number>> = { kb: 1 }\n'
  const found = (text: string) => indexed([{ path: 'a.ts', text }])
  expect(found(`${table}const unit = UNITS[text]`)).toEqual(['a.ts: UNITS'])
  expect(found(`${table}const unit = UNITS[text.toUpperCase()] ?? 1`)).toEqual(['a.ts: UNITS'])
  expect(found('  readonly #acts: Record<string, Act> = {\n  }\n  this.#acts[event.code]')).toEqual([
    'a.ts: #acts',
  ])
  expect(found('const unit = UNITS[text as keyof typeof UNITS]')).toHaveLength(1)
  expect(found('Object.hasOwn(UNITS, text) && UNITS[text as keyof typeof UNITS]')).toEqual([])
  expect(found(`${table}const unit = UNITS['kb']`)).toEqual([])
  expect(found('const made: Record<string, number> = {}\nmade[key] = 1')).toEqual([])
})
