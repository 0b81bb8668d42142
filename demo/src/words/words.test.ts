// In: the page's catalogues. Out: whether each text is there in each language with the same names to fill in.
import { expect, test } from 'vitest'
import { fill } from '../../../src/chat-ui/texts.ts'
import type { EngineNote, NoteCode } from '../../../src/index.ts'
import { ENGLISH } from './english.ts'
import { HEBREW, NOTES, REASONS } from './hebrew.ts'
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

/** Every code has a next step, which `explain` asks for by its code. */
const CODES = Object.keys(ENGLISH)
  .filter((word) => word.startsWith('step-'))
  .map((word) => word.slice('step-'.length))

test('every code of the library has sentences in Hebrew, the last of them without names', () => {
  expect(Object.keys(REASONS).sort()).toEqual(CODES.sort())
  for (const sentences of Object.values(REASONS)) {
    for (const text of sentences) expect(text).toMatch(/[א-ת].*\.$/)
    expect(names(sentences.at(-1) ?? '{}')).toEqual([])
  }
})

/** The values of a note of each kind. */
const VALUES: { readonly [Code in NoteCode]: Extract<EngineNote, { code: Code }>['values'] } = {
  'single-pool': {},
  'no-workers': {},
  'one-thread': {},
  'no-shared-memory': {},
  'not-isolated': {},
  'uncut-model': { reason: 'why' },
  'failed-shards': { reason: 'why' },
  'trained-context': { tokens: 1, asked: 2 },
  'proven-context': { tokens: 1, asked: 2 },
  'long-rotation': { tokens: 1, context: 2 },
  'ignored-sampling': { settings: 'temperature -1' },
  'coarser-scales': { matrices: 7 },
  'unreadable-template': { reason: 'why' },
  'merged-system': {},
}

test.each(Object.entries(VALUES))('the note %s has a sentence in Hebrew with its values', (code, values) => {
  const text = fill(NOTES[code as NoteCode], values)
  expect(text).toMatch(/[א-ת].*\.$/)
  expect(names(text)).toEqual([])
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
