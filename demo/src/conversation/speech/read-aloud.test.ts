// In: texts of answers. Out: the sentences that are read, and their language.
import { expect, test, vi } from 'vitest'
import { languageOf, sentencesOf } from './read-aloud.ts'

test('each sentence and each line is read separately, and text without letters is skipped', () => {
  expect(sentencesOf('One. Two? Yes!\n\nA title\n---\n 3.5 km away. ')).toEqual([
    'One.',
    'Two?',
    'Yes!',
    'A title',
    '3.5 km away.',
  ])
})

test('Hebrew letters get a Hebrew voice, others one in a language that the user reads', () => {
  vi.stubGlobal('navigator', { languages: ['he-IL', 'fr'] })
  expect(languageOf('שלום')).toBe('he')
  expect(languageOf('Bonjour')).toBe('fr')
  vi.stubGlobal('navigator', { languages: ['he'] })
  expect(languageOf('Hello')).toBe('en')
})
