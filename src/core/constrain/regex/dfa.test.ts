import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Language } from '../testing/language.ts'
import { found } from './anchors.ts'
import {
  complementDfa,
  type Dfa,
  dfaHas,
  dfaNode,
  dfaOf,
  dfaOfLength,
  dfaOfTexts,
  isEmpty,
  meet,
} from './dfa.ts'
import { parseRegex } from './syntax.ts'

const PATTERNS = [
  '^a',
  'b$',
  '^(ab|c)*$',
  '[^a]',
  'é|😀',
  '^.{2,4}$',
  'a.*b.*a',
  '^(?:a{2}|b{3})+$',
  '^\\s*$',
]
const TEXT = fc
  .array(fc.constantFrom('a', 'b', 'c', 'é', '😀', ' ', '\n'), { maxLength: 7 })
  .map((chars) => chars.join(''))
const PATTERN = fc.constantFrom(...PATTERNS)

const dfa = (pattern: string) => dfaOf(found(parseRegex(pattern)))
const asLanguage = (one: Dfa) => new Language((grammar) => dfaNode(grammar, one, (set) => grammar.chars(set)))

test('the intersection and difference of two patterns agree with RegExp', () => {
  fc.assert(
    fc.property(PATTERN, PATTERN, fc.array(TEXT, { minLength: 10, maxLength: 10 }), (one, other, texts) => {
      const both = meet(dfa(one), dfa(other))
      const only = meet(dfa(one), complementDfa(dfa(other)))
      const first = new RegExp(one, 'u')
      const second = new RegExp(other, 'u')
      const languages = [both, only].map((each) => (isEmpty(each) ? undefined : asLanguage(each)))
      for (const text of texts) {
        const isFirst = first.test(text)
        const isSecond = second.test(text)
        expect(dfaHas(both, text)).toBe(isFirst && isSecond)
        expect(dfaHas(only, text)).toBe(isFirst && !isSecond)
        expect(languages[0]?.has(text) ?? false).toBe(isFirst && isSecond)
        expect(languages[1]?.has(text) ?? false).toBe(isFirst && !isSecond)
      }
    }),
    { numRuns: 150 },
  )
})

test('a length is counted in characters', () => {
  const between = dfaOfLength(1, 2)
  const atLeast = dfaOfLength(2, Number.POSITIVE_INFINITY)
  expect(['', 'é', '😀a', 'abc'].map((text) => dfaHas(between, text))).toEqual([false, true, true, false])
  expect(['', 'é', '😀a', 'abc'].map((text) => dfaHas(atLeast, text))).toEqual([false, false, true, true])
})

test('a DFA of texts accepts exactly these texts', () => {
  const texts = ['a', 'ab', '', 'é😀', 'b']
  const one = dfaOfTexts(texts)
  fc.assert(fc.property(TEXT, (text) => dfaHas(one, text) === texts.includes(text)))
  for (const text of texts) expect(asLanguage(one).has(text)).toBe(true)
})

test('a pattern whose states double with each position is rejected', () => {
  expect(() => dfa('a[ab]{30}$')).toThrow(expect.objectContaining({ code: 'unsupported' }))
})
