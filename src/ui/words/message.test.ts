// In: messages, values, languages. Out: the displayed text.
import { expect, test } from 'vitest'
import { fill, isolated, numberText, say } from './message.ts'

test('names in braces are filled in, and unknown ones are left', () => {
  expect(fill('{a} of {b}, {c}', { a: 1, b: 'two' })).toBe('1 of two, {c}')
  expect(fill('{a}', { a: '{b}', b: 'no' })).toBe('{b}')
  expect(say('{a} of {b}, {c}', { a: 1, b: 'two' }, 'en')).toBe('1 of two, {c}')
})

test('a number chooses among the plural forms of the language', () => {
  const polish = { one: '{count} plik', few: '{count} pliki', many: '{count} plików', other: '{count} pliku' }
  const say1 = (count: number) => say(polish, { count }, 'pl')
  expect([1, 2, 5, 12, 22, 1.5].map(say1)).toEqual([
    '1 plik',
    '2 pliki',
    '5 plików',
    '12 plików',
    '22 pliki',
    '1,5 pliku',
  ])
  expect(say({ by: 'all', one: 'of one', other: '{found} of {all}' }, { found: 0, all: 1 }, 'en')).toBe(
    'of one',
  )
  expect(say({ other: '{count} files' }, { count: 1 }, 'en')).toBe('1 files')
})

test('numbers are written as in the language, and years of four digits are not grouped', () => {
  expect([5, 4096, 131072, 0.05].map((value) => numberText(value, 'en'))).toEqual([
    '5',
    '4096',
    '131,072',
    '0.05',
  ])
  expect([4096, 131072, 0.05].map((value) => numberText(value, 'de'))).toEqual(['4096', '131.072', '0,05'])
  expect(numberText(12.34, 'en', 1)).toBe('12.3')
  expect(numberText(12.34, 'fr', 1)).toBe('12,3')
  expect(numberText(25, 'bn')).toBe('২৫')
})

test('a name whose direction may differ from that of the text is isolated', () => {
  expect(say('Delete {name}?', { name: 'a.txt' }, 'en')).toBe('Delete a.txt?')
  expect(say('Delete {name}?', { name: 'שלום!' }, 'en')).toBe('Delete \u2068שלום!\u2069?')
  expect(say('{name}?', { name: 'a.txt!' }, 'he')).toBe('\u2068a.txt!\u2069?')
  expect(isolated('a', 'ar-EG')).toBe('\u2068a\u2069')
})
