// In: texts in several languages. Out: whether each is recognised as a language other than English.
import { expect, test } from 'vitest'
import { isOtherLanguage } from './other-language.ts'

test.each([
  'Hallo, wie geht es dir?',
  'Erzähle mir bitte eine Geschichte über einen Fuchs.',
  'Bonjour, comment allez-vous ?',
  '¿Cómo estás?',
  'Olá, tudo bem?',
  'Ciao, come stai?',
  'Hoe gaat het?',
  'Как дела?',
  '今日はいい天気ですね',
  'ספר לי סיפור על שועל',
  'احكِ لي قصة',
])('%s', (text) => {
  expect(isOtherLanguage(text)).toBe(true)
})

test.each([
  'Hello! How are you?',
  'Tell me a story about a fox.',
  'Tell me a story about Señor Pérez and a piñata.',
  'Who is Björk?',
  'What does "bonjour" mean?',
  'fox',
  'OK',
  '3 + 4',
  '🙂',
  'Ben and Ella come to Los Angeles',
  'a die, a hat and a man',
  '',
])('is English or undecidable: %s', (text) => {
  expect(isOtherLanguage(text)).toBe(false)
})
