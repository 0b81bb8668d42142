// The package's documents. In: documents with links. Out: whether they lead to the package or to the
// repository, and whether packing leaves this folder as it was.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { contains, packDocuments, packedText, packInPlace, restoreDocuments } from './documents.mjs'

const HOME = 'https://host.example/someone/thing'
const MANIFEST = {
  files: ['dist', '!dist/wasm', '!dist/models/large.hbm', 'docs/guide', 'CHANGELOG.md'],
  homepage: `${HOME}#readme`,
}
const packed = (text: string, path = 'docs/guide/a.md') => packedText(text, path, MANIFEST)

test.each([
  ['dist/index.js', true],
  ['dist/wasm/a.wasm', false],
  ['docs/guide/a.md', true],
  ['docs/guidebook.md', false],
  ['README.md', true],
  ['SECURITY.md', false],
])('whether the package contains %s: %s', (path, isIn) => {
  expect(contains(MANIFEST, path)).toBe(isIn)
})

test.each([
  ['[a](b.md#c)', '[a](b.md#c)'],
  ['[a](#c) and [b](https://host.example/x)', '[a](#c) and [b](https://host.example/x)'],
  ['[a](../internals/b.md#c)', `[a](${HOME}/blob/HEAD/docs/internals/b.md#c)`],
  ['[a\nb](../../examples/electron)', `[a\nb](${HOME}/tree/HEAD/examples/electron)`],
  ['[a](../../demo/models/README.md)', '[a](../../dist/models/README.md)'],
  ['[a](../../demo/models/large.hbm)', `[a](${HOME}/blob/HEAD/demo/models/large.hbm)`],
  ['![a](../images/b.svg)', `![a](${HOME}/raw/HEAD/docs/images/b.svg)`],
  ['<img alt="a" src="../images/b.png">', `<img alt="a" src="${HOME}/raw/HEAD/docs/images/b.png">`],
  ['```md\n[a](../b.md)\n```', '```md\n[a](../b.md)\n```'],
])('%s becomes %s', (before, after) => {
  expect(packed(before)).toBe(after)
})

test("links of a model's card are relative to its original", () => {
  expect(packed('[a](CREDITS.md) [b](../../lab/b.md)', 'dist/models/README.md')).toBe(
    `[a](CREDITS.md) [b](${HOME}/blob/HEAD/lab/b.md)`,
  )
})

let folder: string
const TEXT = 'See [security](SECURITY.md) and [the guide](docs/guide/a.md).\n'
const read = (path: string) => readFileSync(join(folder, path), 'utf8')

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halfbyte-documents-'))
  mkdirSync(join(folder, 'docs/guide'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify(MANIFEST))
  writeFileSync(join(folder, 'README.md'), TEXT)
  writeFileSync(join(folder, 'docs/guide/a.md'), '[the library](../../src)\n')
})
afterEach(() => rmSync(folder, { recursive: true }))

test('documents are rewritten, and put back, even after a run that was interrupted', () => {
  packInPlace(folder)
  const packedReadme = read('README.md')
  expect(packedReadme).toContain(`${HOME}/blob/HEAD/SECURITY.md`)
  expect(read('docs/guide/a.md')).toContain(`${HOME}/tree/HEAD/src`)
  packInPlace(folder)
  expect(read('README.md')).toBe(packedReadme)
  restoreDocuments(folder)
  expect([read('README.md'), read('docs/guide/a.md')]).toEqual([TEXT, '[the library](../../src)\n'])
  packDocuments(folder)
  restoreDocuments(folder)
  expect(read('README.md')).toBe(packedReadme)
})

test('edits after an interrupted run are kept', () => {
  packInPlace(folder)
  const edited = `${read('README.md')}An edit.\n`
  writeFileSync(join(folder, 'README.md'), edited)
  restoreDocuments(folder)
  expect([read('README.md'), read('docs/guide/a.md')]).toEqual([edited, '[the library](../../src)\n'])
})
