// In: the page's texts and their translations. Out: whether each language has each text, with its placeholders
// and plural forms.
import { describe, expect, test, vi } from 'vitest'
import type { EngineNote, NoteCode } from '../../../src/index.ts'
import { CATALOGUE } from '../../../src/ui/chat/library.ts'
import { TRANSLATED } from '../../../src/ui/words/languages.ts'
import { fill } from '../../../src/ui/words/message.ts'
import { problemsOf } from '../../../src/ui/words/testing/problems.ts'
import { ENGLISH } from './english.ts'
import * as hebrew from './languages/he.ts'
import { LATER_ENGLISH } from './later-english.ts'
import { t as later } from './later-words.ts'
import { OWN_NAMES } from './own-names.ts'
import { UNLOADED } from './unloaded.ts'
import { languageToSpeak, speak, type Translation, t } from './words.ts'

const names = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort()

/** Every code has a next step, which `explain` looks up by the code. */
const CODES = Object.keys(ENGLISH)
  .filter((word) => word.startsWith('step-'))
  .map((word) => word.slice('step-'.length))

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

describe.each(TRANSLATED)('the page in %s', (code) => {
  const load = (): Promise<Translation> => import(`./languages/${code}.ts`)
  const own = new Intl.Locale(code).maximize().script ?? ''
  /** Some languages are written in several scripts together. */
  const scripts = { Jpan: 'Han Hira Kana', Kore: 'Hang', Hans: 'Han', Hant: 'Han' }[own] ?? own
  const inScript = new RegExp(
    `[${scripts
      .split(' ')
      .map((script) => `\\p{Script=${script}}`)
      .join('')}]`,
    'u',
  )

  test('has every text', async () => {
    const { WORDS, LATER } = await load()
    expect(Object.keys(WORDS).sort()).toEqual(Object.keys(ENGLISH).sort())
    expect(problemsOf({ ...ENGLISH, ...LATER_ENGLISH }, { ...WORDS, ...LATER }, code)).toEqual([])
  })

  test('says what happened at every error, the last time without values', async () => {
    const { REASONS } = await load()
    expect(Object.keys(REASONS).sort()).toEqual(CODES.sort())
    for (const sentences of Object.values(REASONS)) {
      for (const text of sentences) expect(text).toMatch(/[.。।]$/)
      for (const text of sentences) expect(text).toMatch(inScript)
      expect(names(sentences.at(-1) ?? '{}')).toEqual([])
    }
  })

  test('says what to expect of every model of the catalogue', async () => {
    const { MODELS } = await load()
    const english = Object.fromEntries(CATALOGUE.map(({ title, about }) => [title, about]))
    expect(problemsOf(english, MODELS, code)).toEqual([])
  })

  test('says every note with its values', async () => {
    const { NOTES } = await load()
    expect(Object.keys(NOTES).sort()).toEqual(Object.keys(VALUES).sort())
    for (const [note, values] of Object.entries(VALUES)) {
      const text = NOTES[note as NoteCode]
      expect(text).toMatch(inScript)
      expect(text).toMatch(/[.。।]$/)
      expect(names(fill(text, values)), note).toEqual([])
    }
  })

  test('has a name, and a sentence for scripts that do not load', () => {
    expect(OWN_NAMES[code]).toMatch(inScript)
    expect(UNLOADED[code]).toMatch(inScript)
    expect(UNLOADED[code]).toMatch(/[.。।]$/)
  })
})

test('a part that loads later has its own texts and the page’s in the page’s language', async () => {
  expect(later('measuring')).toBe(LATER_ENGLISH.measuring)
  expect(later('cancel')).toBe(ENGLISH.cancel)
  // In Node there is no page whose direction could change.
  vi.stubGlobal('document', { documentElement: {} })
  await speak('he')
  expect(later('measuring')).toBe(hebrew.LATER.measuring)
  expect(later('cancel')).toBe(hebrew.WORDS.cancel)
  await speak('en')
  vi.unstubAllGlobals()
})

test('a text is filled in', () => {
  expect(t('goOn', { name: 'Tiny' })).toBe('Continue with Tiny')
  expect([1, 2].map((count) => t('threads', { count, build: 'relaxed' }))).toEqual([
    '1 thread, relaxed',
    '2 threads, relaxed',
  ])
})

test('the browser’s first known language is used unless one was chosen', () => {
  expect(languageToSpeak('auto', ['sv-SE', 'he-IL', 'en'])).toBe('he')
  expect(languageToSpeak('auto', ['en-GB', 'he'])).toBe('en')
  expect(languageToSpeak('auto', ['sv'])).toBe('en')
  expect(languageToSpeak('en', ['he'])).toBe('en')
})
