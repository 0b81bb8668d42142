// In: the page's catalogues. Out: whether each text exists in each language with the same placeholders.
import { expect, test, vi } from 'vitest'
import type { EngineNote, NoteCode } from '../../../src/index.ts'
import { fill } from '../../../src/ui/chat/texts.ts'
import { ENGLISH } from './english.ts'
import { LATER, NOTES, REASONS, WORDS } from './languages/he.ts'
import { LATER_ENGLISH } from './later-english.ts'
import { t as later } from './later-words.ts'
import { languageFor, speak, t } from './words.ts'

const names = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort()
/** Names of products and units, which are the same in both. */
const SAME = ['languageEn', 'languageHe', 'set-topK', 'set-topP', 'set-minP']

const IN_HEBREW = { ...WORDS, ...LATER }

test.each(Object.entries({ ...ENGLISH, ...LATER_ENGLISH }))(
  '%s is translated, with the same placeholders',
  (word, english) => {
    const hebrew = IN_HEBREW[word as keyof typeof IN_HEBREW]
    expect(hebrew.trim()).not.toBe('')
    if (!SAME.includes(word)) expect(hebrew).toMatch(/[א-ת]|^\{/)
    // A number written in words needs no placeholder.
    for (const name of names(hebrew)) expect(names(english)).toContain(name)
  },
)

test('a part that loads later has its own texts and the page’s in the page’s language', async () => {
  expect(later('measuring')).toBe(LATER_ENGLISH.measuring)
  expect(later('cancel')).toBe(ENGLISH.cancel)
  // In Node there is no page whose direction could change.
  vi.stubGlobal('document', { documentElement: {} })
  await speak('he')
  expect(later('measuring')).toBe(LATER.measuring)
  expect(later('cancel')).toBe(WORDS.cancel)
  await speak('en')
  vi.unstubAllGlobals()
})

/** Every code has a next step, which `explain` looks up by the code. */
const CODES = Object.keys(ENGLISH)
  .filter((word) => word.startsWith('step-'))
  .map((word) => word.slice('step-'.length))

test('every error code has Hebrew sentences, the last of them without placeholders', () => {
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
  'unbuilt-vision': { reason: 'why' },
  'merged-system': {},
}

test.each(Object.entries(VALUES))('the note %s has a Hebrew sentence with its values', (code, values) => {
  const text = fill(NOTES[code as NoteCode], values)
  expect(text).toMatch(/[א-ת].*\.$/)
  expect(names(text)).toEqual([])
})

test('a text is filled in', () => {
  expect(t('goOn', { name: 'Tiny' })).toBe('Continue with Tiny')
})

test('the browser’s first known language is used unless one was chosen', () => {
  expect(languageFor('auto', ['fr-FR', 'he-IL', 'en'])).toBe('he')
  expect(languageFor('auto', ['iw'])).toBe('he')
  expect(languageFor('auto', ['en-GB', 'he'])).toBe('en')
  expect(languageFor('auto', ['fr'])).toBe('en')
  expect(languageFor('en', ['he'])).toBe('en')
})
