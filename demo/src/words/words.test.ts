// In: the page's catalogues. Out: whether each text is there in each language with the same names to fill in.
import { expect, test } from 'vitest'
import { ENGLISH } from './english.ts'
import { HEBREW } from './hebrew.ts'
import { languageFor, t, type Word } from './words.ts'

const names = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort()
/** Names of products and units, which are the same in both. */
const SAME = ['languageEn', 'languageHe', 'set-topK', 'set-topP', 'set-minP']

test.each(Object.keys(ENGLISH) as Word[])('%s is translated, with the names that are filled in', (word) => {
  expect(HEBREW[word].trim()).not.toBe('')
  if (!SAME.includes(word)) expect(HEBREW[word]).toMatch(/[א-ת]|^\{/)
  // A number in words needs no name.
  for (const name of names(HEBREW[word])) expect(names(ENGLISH[word])).toContain(name)
})

test('a text is filled in', () => {
  expect(t('goOn', { name: 'Tiny' })).toBe('Go on with Tiny')
})

test('the first known language of the browser is taken, unless one was chosen', () => {
  expect(languageFor('auto', ['fr-FR', 'he-IL', 'en'])).toBe('he')
  expect(languageFor('auto', ['iw'])).toBe('he')
  expect(languageFor('auto', ['en-GB', 'he'])).toBe('en')
  expect(languageFor('auto', ['fr'])).toBe('en')
  expect(languageFor('en', ['he'])).toBe('en')
})
