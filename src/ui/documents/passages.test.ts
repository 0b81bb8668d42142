// In: texts, tables, pages. Out: passages that overlap and state their place.
import { expect, test } from 'vitest'
import { DOCUMENT_WORDS } from '../words/documents.ts'
import { cutDocument } from './passages.ts'
import { placeText } from './place-text.ts'
import { tableRows } from './table.ts'

const cut = (name: string, text: string) => cutDocument({ name, text })
const letters = (text: string) => text.replaceAll(/\s/g, '')

test('texts are split at paragraphs and sentences, overlap, and lose nothing', () => {
  const sentences = Array.from({ length: 60 }, (_, index) => `Kettle ${index} stands on the stove and sings.`)
  const text = `Short one.\n\nShort two.\n\n${sentences.join(' ')}\n\n${'x'.repeat(1500)}`
  const passages = cut('a.txt', text)
  expect(passages.every((passage) => passage.text.length <= 730)).toBe(true)
  for (const sentence of ['Short one.', 'Short two.', ...sentences])
    expect(passages.some((passage) => passage.text.includes(sentence))).toBe(true)
  const all = letters(passages.map((passage) => passage.text).join(''))
  expect(all.length).toBeGreaterThan(letters(text).length)
  // Each begins with the end of the one before.
  for (const [index, { text: next }] of passages.slice(1, 5).entries())
    expect(passages[index]?.text).toContain(next.slice(0, 20))
  expect(cut('a.txt', ' \n\n ')).toEqual([])
})

test('an unbroken line of ideographs is split, and each passage is a third as long', () => {
  const passages = cut('a.txt', '山'.repeat(1000))
  expect(passages.length).toBeGreaterThanOrEqual(5)
  for (const { text } of passages) expect(text.length).toBeLessThanOrEqual(250)
})

test('places are pages, paths of headings, lines and rows', () => {
  const placesOf = (name: string, text: string) =>
    cut(name, text).map(({ place }) => placeText(place, DOCUMENT_WORDS, 'en'))
  expect(placesOf('a.pdf', 'one\ftwo')).toEqual(['page 1', 'page 2'])
  const markdown = 'Before.\n\n# Post\n\n## Abroad\nTen days.\n\n## Home\nOne day.\n\n# Money'
  expect(placesOf('a.md', markdown)).toEqual(['line 1', 'Post › Abroad', 'Post › Home'])
  expect(placesOf('a.py', `# note\nx = 1\n${'y = 2\n'.repeat(110)}`)).toEqual(['lines 1–99', 'lines 100–112'])
  expect(placesOf('a.txt', 'one')).toEqual([''])
  expect(placesOf('a.csv', 'n;m\n1;"2\n3"\n4;5')).toEqual(['rows 2–3'])
})

test('an overlap never crosses a heading', () => {
  const [, second] = cut('a.md', '# One\n\nThe first ends.\n\n# Two\n\nThe second.')
  expect(second).toEqual({ text: 'The second.', place: { lines: [7, 7], headings: ['Two'] } })
})

test('each passage of a table has its header, and cells may be quoted', () => {
  const rows = Array.from({ length: 100 }, (_, index) => `${index},"Kettle, ""old""",${index * 3}`)
  const passages = cut('stock.csv', ['Number,Name,Stock', ...rows].join('\n'))
  expect(passages.length).toBeGreaterThan(3)
  for (const { text } of passages)
    expect(text).toMatch(/^Number \| Name \| Stock\n\d+ \| Kettle, "old" \| \d+/)
  expect(passages.flatMap(({ text }) => text.split('\n').slice(1))).toHaveLength(100)
  expect(passages.at(-1)?.place.rows?.[1]).toBe(101)
  expect(cut('a.csv', 'only,a,header')).toHaveLength(1)
  expect(cut('a.csv', '')).toEqual([])
})

test.each([
  ['a,b\n1,2', ['a', 'b']],
  ['a;b;c\n1,5;2;3', ['a', 'b', 'c']],
  ['a\tb\n1\t2,3', ['a', 'b']],
  ['"a,b"|c\n1|2', ['a,b', 'c']],
])('the delimiter of %j', (text, cells) => {
  expect(tableRows(text)[0]?.cells).toEqual(cells)
})

test('an unclosed quote ends with the text', () => {
  expect(tableRows('a,"b\nc')).toEqual([{ cells: ['a', 'b\nc'], number: 1 }])
})
