// Tests DRY. In: histories with repetitions and breakers. Out: the penalties computed by hand and by brute
// force.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Breakers, dry } from './dry.ts'
import { longestRepeat } from './testing/brute-force.ts'

const VOCAB = 26
const settings = { dryMultiplier: 1, dryBase: 2, dryAllowedLength: 2, dryLastN: Number.POSITIVE_INFINITY }
const encoder = new TextEncoder()
/** Each id stands for a letter: 0 is a. */
const letters = (id: number) => Uint8Array.of(97 + id)
const idsOf = (text: string) => [...encoder.encode(text)].map((byte) => byte - 97)

/** The penalty of each letter's logit after `text`. */
function taken(text: string, options: Partial<typeof settings> = {}, breakers: readonly string[] = []) {
  const tally = new Uint32Array(VOCAB)
  const logits = new Float32Array(VOCAB)
  const history = idsOf(text)
  dry({ ...settings, ...options }, new Breakers(breakers, letters), tally)(logits, history, history.length)
  expect(tally.every((count) => count === 0)).toBe(true)
  return Object.fromEntries(
    [...logits].flatMap((logit, id) => (logit === 0 ? [] : [[String.fromCharCode(97 + id), -logit]])),
  )
}

test('a token that would continue a repetition loses base^(length - allowed)', () => {
  expect(taken('abcxab')).toEqual({ c: 1 })
  expect(taken('abcdxabcd')).toEqual({ x: 4 })
  expect(taken('abcdexabcd')).toEqual({ e: 4 })
  expect(taken('abcdexabcd', { dryAllowedLength: 3 })).toEqual({ e: 2 })
  expect(taken('abcdexabcd', { dryMultiplier: 0.5, dryBase: 3 })).toEqual({ e: 4.5 })
})

test('each continuation is penalised by the longest repetition before it', () => {
  expect(taken('abcdxbceyabc')).toEqual({ d: 2, e: 1 })
  expect(taken('aaaa')).toEqual({ a: 2 })
})

test('a match shorter than the allowed length is not penalised', () => {
  expect(taken('abxb')).toEqual({})
  expect(taken('abxb', { dryAllowedLength: 1 })).toEqual({ x: 1 })
})

test('only the last n tokens are searched', () => {
  expect(taken('abcxab', { dryLastN: 5 })).toEqual({})
  expect(taken('abcxab', { dryLastN: 6 })).toEqual({ c: 1 })
  expect(taken('abcxab', { dryLastN: 0 })).toEqual({})
})

test('no repetition crosses a breaker, and tokens that contain one are not penalised', () => {
  expect(taken('abcdexabcd', {}, ['b'])).toEqual({ e: 1 })
  expect(taken('abcdexabcd', {}, ['c'])).toEqual({})
  expect(taken('abcdexabcd', {}, ['e'])).toEqual({})
  expect(taken('abcdexabcd', {}, ['bc'])).toEqual({})
})

test('a huge penalty leaves finite logits', () => {
  expect(taken('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', { dryBase: 1e20 })).toEqual({ a: Math.fround(1e30) })
})

test('matches the brute-force definition for any history, as tokens are added', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(2), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 70 }),
      fc.constantFrom<readonly string[]>([], ['c'], ['ab'], ['bc', 'a']),
      (history, dryAllowedLength, dryLastN, texts) => {
        const adjust = dry(
          { ...settings, dryAllowedLength, dryLastN },
          new Breakers(texts, letters),
          new Uint32Array(VOCAB),
        )
        const text = history.map((id) => String.fromCharCode(97 + id)).join('')
        for (let length = 1; length <= history.length; length++) {
          const logits = new Float32Array(VOCAB)
          adjust(logits, history, length)
          const start = Math.max(0, length - dryLastN)
          const ends = texts.map((text_) => {
            const at = text.slice(0, length).lastIndexOf(text_)
            return at < 0 ? 0 : at + text_.length
          })
          const since = length - Math.max(0, ...ends)
          for (let id = 0; id < VOCAB; id++) {
            const isBreaker = texts.includes(String.fromCharCode(97 + id))
            const repeat = Math.min(longestRepeat(history.slice(start, length), id), since)
            const expected = repeat >= dryAllowedLength && !isBreaker ? 2 ** (repeat - dryAllowedLength) : 0
            expect(0 - logits[id]!).toBe(Math.min(Math.fround(1e30), expected))
          }
        }
      },
    ),
    { numRuns: 200 },
  )
})

describe('breakers', () => {
  const tokens = ['x', 'ne', 'wli', 'ne.', '\u00e9', 'a:b', 'li', 'n']
  const bytes = (id: number) => encoder.encode(tokens[id])
  const endsAt = (texts: readonly string[], history: readonly number[]) =>
    new Breakers(texts, bytes).lastEnd(history, history.length)

  test('are found across tokens, at the token where they end', () => {
    expect(endsAt(['newline'], [0, 1, 2, 3, 0])).toBe(4)
    expect(endsAt(['newline'], [0, 1, 2, 0])).toBe(0)
    expect(endsAt(['nene'], [7, 1, 1, 0])).toBe(3)
    expect(endsAt([':', '\u00e9'], [5, 4, 0])).toBe(2)
  })

  test('may restart where they were interrupted', () => {
    expect(endsAt(['nneli'], [7, 7, 7, 1, 6])).toBe(5)
    expect(endsAt(['nneli'], [7, 0, 1, 6])).toBe(0)
  })

  test('are found in a token that contains one completely, whatever came before', () => {
    const breakers = new Breakers(['e.', ':'], bytes)
    expect(tokens.map((_, id) => breakers.isIn(id))).toEqual([
      false,
      false,
      false,
      true,
      false,
      true,
      false,
      false,
    ])
    breakers.lastEnd([1], 1)
    expect(breakers.isIn(0)).toBe(false)
  })
})
