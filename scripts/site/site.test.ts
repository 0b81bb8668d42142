// The site. In: made-up documents and built pages. Out: whether the site's links work and dead ones are
// found.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deadLinks } from './links.mjs'
import { sitePage } from './page.mjs'

const PLACES = new Map([
  ['README.md', 'start.md'],
  ['docs/guide/pools.md', 'guide/pools.md'],
  ['lab/measurements/pools.md', 'measurements/pools.md'],
])

test('links between documents become links between pages, with their anchors', () => {
  expect(sitePage('[a](docs/guide/pools.md#auto)', 'README.md', PLACES)).toBe('[a](./guide/pools.md#auto)')
  expect(sitePage('[a](../../lab/measurements/pools.md)', 'docs/guide/pools.md', PLACES)).toBe(
    '[a](../measurements/pools.md)',
  )
  expect(sitePage('[a](../../README.md) [b](#here)', 'docs/guide/pools.md', PLACES)).toBe(
    '[a](../start.md) [b](#here)',
  )
})

test('a link to a file that is not a page becomes plain text, and a URL stays', () => {
  expect(sitePage('[the code](src/a.ts), [x](https://x.example/a.md)', 'README.md', PLACES)).toBe(
    'the code, [x](https://x.example/a.md)',
  )
})

test('a link that spans two lines is converted too', () => {
  expect(sitePage('see [the\npools](docs/guide/pools.md).', 'README.md', PLACES)).toBe(
    'see [the\npools](./guide/pools.md).',
  )
  expect(sitePage('an open [ bracket\n\nand (a)', 'README.md', PLACES)).toBe('an open [ bracket\n\nand (a)')
})

test('image paths are adapted to the site', () => {
  expect(sitePage('<img alt="" src="docs/images/chat.png">', 'README.md', PLACES)).toBe(
    '<img alt="" src="./images/chat.png">',
  )
  expect(sitePage('![a](../images/a.svg)', 'docs/guide/pools.md', PLACES)).toBe('![a](../images/a.svg)')
})

test('code is unchanged', () => {
  const text = '```md\n[a](src/a.ts)\n```'
  expect(sitePage(text, 'README.md', PLACES)).toBe(text)
  const between = `${text}\n[a](docs/guide/pools.md)\n${text}`
  expect(sitePage(between, 'README.md', PLACES)).toBe(`${text}\n[a](./guide/pools.md)\n${text}`)
})

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halfbyte-site-'))
  mkdirSync(join(folder, 'guide'))
  writeFileSync(join(folder, 'index.html'), '<h1 id="top">a</h1>')
})
afterEach(() => rmSync(folder, { recursive: true }))

test('dead links to files and anchors are found', () => {
  writeFileSync(
    join(folder, 'guide/a.html'),
    '<a href="../index.html#top"></a><a href="/index.html#gone"></a><img src="b.png"><a href="a"></a>' +
      '<a href="https://x.example/"></a><a href="/guide/none.html?x=1&amp;y"></a>',
  )
  expect(deadLinks(folder)).toEqual([
    'guide/a.html: /index.html#gone',
    'guide/a.html: b.png',
    'guide/a.html: /guide/none.html?x=1&amp;y',
  ])
})

test('a site below a base path is checked relative to it', () => {
  writeFileSync(
    join(folder, 'guide/a.html'),
    '<a href="/halfbyte/index.html#top"></a><a href="/halfbyte/x"></a>',
  )
  expect(deadLinks(folder, '/halfbyte/')).toEqual(['guide/a.html: /halfbyte/x'])
})

test("each line of the home page's settings has one key", () => {
  const page = readFileSync(new URL('../../docs/site/home.md', import.meta.url), 'utf8')
  const [, settings = ''] = /^---\n([\s\S]*?)\n---$/m.exec(page) ?? []
  const lines = settings.split('\n')
  expect(lines.length).toBeGreaterThan(30)
  expect(lines.filter((line) => !/^ *(?:- )?\w+:(?: (?:'.*'|(?!.* \w+: ).*))?$/.test(line))).toEqual([])
})
