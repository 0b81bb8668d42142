// In: the widget's texts and their translations. Out: whether each language has each text, with its
// placeholders and plural forms.
import { expect, test } from 'vitest'
import { COMMON, ENGLISH, type Translation } from './english.ts'
import { TRANSLATED } from './languages.ts'
import { problemsOf } from './testing/problems.ts'

const COMMON_NAMES = Object.keys(COMMON).sort()

test.each(TRANSLATED)('the widget in %s has every text', async (code) => {
  const { COMMON: common, WIDGET }: Translation = await import(`./languages/${code}.ts`)
  expect(Object.keys(common).sort()).toEqual(COMMON_NAMES)
  expect(problemsOf(ENGLISH, { ...common, ...WIDGET }, code)).toEqual([])
})

test('a table is compared by names, placeholders, plural forms, ends and language', () => {
  const english = { a: '{count} files', b: 'Send it now.', c: 'Stop' }
  const wrong = (translated: Parameters<typeof problemsOf>[1]) =>
    problemsOf(english, { a: '{count} x', b: 'Los.', c: 'Stop', ...translated }, 'pl')
  expect(wrong({})).toEqual([])
  expect(wrong({ d: 'x' })).toEqual(['d is in one table only'])
  expect(wrong({ a: 'files' })).toEqual(['a (other) lacks {count}'])
  expect(wrong({ a: '{count} of {all}' })).toEqual(['a (other) has the unknown {all}'])
  expect(wrong({ a: { one: 'x', few: '{count} x', other: '{count} x' } })).toEqual(['a lacks the form many'])
  const forms = { one: 'x', few: '{count} x', many: '{count} x', other: '{count} x' }
  expect(wrong({ a: forms })).toEqual([])
  expect(wrong({ a: { ...forms, two: 'x' } })).toEqual(['a has the unused form two'])
  expect(wrong({ a: { ...forms, by: 'all' } })).toContain('a depends on {all}, which the English text lacks')
  expect(wrong({ b: 'Los' })).toEqual(['b (other) ends differently: Los'])
  expect(wrong({ b: 'Send it now.' })).toEqual(['b (other) is English'])
  expect(wrong({ b: ' Los.' })).toEqual(['b (other) is empty or has stray spaces'])
})
