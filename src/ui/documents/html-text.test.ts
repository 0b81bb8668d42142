// In: web pages. Out: their visible text with headings.
import { expect, test } from 'vitest'
import { fixtureText } from '../../../test/helpers/fixture.ts'
import { htmlText } from './html-text.ts'
import { MAX_LETTERS } from './kinds.ts'

const read = (source: string) => htmlText('a.html', source)

test('headings, paragraphs, lists and tables, without scripts, styles, menus and hidden parts', async () => {
  const source = `<title>Foxes &amp; friends</title><style>p{color:red}</style><script>alert("<p>1</p>")</script>
    <nav><a>Home</a></nav><h2>Where they
    live</h2><p>A <b>fox</b>&nbsp;runs<br>home.<p hidden>No.<p>Two.
    <ul><li>One<ul><li><p>Inner</p></li></ul><li>Three</ul>
    <table><tr><th>Name<th>Age<tr><td>Rex<td><p>7</p></table><pre>a
  b</pre><template><p>x</p></template><svg><title>s</title><text>t</text></svg>`
  expect(await read(source)).toBe(`# Foxes & friends

## Where they live

A fox runs
home.

Two.

- One
  - Inner
- Three

Name | Age
Rex | 7

a
  b`)
})

test('a first heading replaces the title, and a line that begins with a mark is not a heading', async () => {
  expect(await read('<title>T</title><h1>H</h1><p># not a heading')).toBe('# H\n\n # not a heading'.trim())
})

test('unclosed, unbalanced and deeply nested tags neither throw nor hang', async () => {
  expect(await read('</p></table><td>a<table><tr><td>b')).toMatch(/a[\s\S]*b/)
  expect(await read(`${'<div>'.repeat(50_000)}deep`)).toBe('deep')
  expect(await read('<script>never closed <p>x')).toBe('')
})

test('a page of a real program', async () => {
  const text = await read(fixtureText('documents/hurricane.html'))
  expect(text).toMatch(/^# 1933 Treasure Coast hurricane\n\nThe 1933 Treasure Coast hurricane was/)
  expect(text.match(/^#+ .*$/gm)).toContain('## Meteorological history')
  expect(text).not.toMatch(/Home|navy|document\.title/)
})

test('a page that is too long is rejected, and a read can be stopped', async () => {
  const long = `<p>${'word '.repeat(MAX_LETTERS / 4)}</p><p>`.repeat(2)
  await expect(read(long)).rejects.toMatchObject({ detail: { document: 'long', name: 'a.html' } })
  const stop = new AbortController()
  const reading = htmlText('a.html', '<p>x</p>'.repeat(60_000), stop.signal)
  stop.abort(new Error('stopped'))
  await expect(reading).rejects.toThrow('stopped')
})
