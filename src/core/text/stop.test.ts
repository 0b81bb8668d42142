// Tests stop strings. In: texts in chunks of any size. Out: the text up to the stop string and not a
// character more.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stopMatcher } from './detokenizer.ts'

/** By definition: the match that ends first; among those, the longest. */
function firstMatch(text: string, stops: readonly string[]): { start: number; stop: string } | undefined {
  return stops
    .filter((stop) => stop !== '' && text.includes(stop))
    .map((stop) => ({ start: text.indexOf(stop), stop }))
    .sort((a, b) => a.start + a.stop.length - (b.start + b.stop.length) || a.start - b.start)[0]
}

const unit = fc.constantFrom('a', 'b', '\n', '👩', '🦙')
const chunk = fc.string({ unit, maxLength: 4 })

test('finds what indexOf finds in the joined text, whatever the chunks', () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 20 }), fc.array(chunk, { maxLength: 4 }), (chunks, stops) => {
      const text = chunks.join('')
      const matcher = stopMatcher(stops)
      const shown = chunks.map((part) => matcher.push(part)).join('') + matcher.flush()
      const match = firstMatch(text, stops)
      expect(shown).toBe(match === undefined ? text : text.slice(0, match.start))
      expect(matcher.matched).toBe(match?.stop)
    }),
    { numRuns: 1000 },
  )
})

test('only text that could still become a stop string is held back', () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 20 }), fc.array(chunk, { maxLength: 4 }), (chunks, stops) => {
      const matcher = stopMatcher(stops)
      let text = ''
      let shown = ''
      for (const part of chunks) {
        text += part
        shown += matcher.push(part)
        if (matcher.matched !== undefined) return
        const beginnings = stops.flatMap((stop) => stop.split('').map((_, at) => stop.slice(0, at)))
        const held = beginnings.filter((begin) => text.endsWith(begin)).map((begin) => begin.length)
        expect(text.length - shown.length).toBe(Math.max(0, ...held))
      }
    }),
    { numRuns: 1000 },
  )
})

test('a stop string split over two tokens is still caught', () => {
  const matcher = stopMatcher(['\nUser:'])
  expect(matcher.push('Fine.\nUs')).toBe('Fine.')
  expect(matcher.push('er: and')).toBe('')
  expect(matcher.matched).toBe('\nUser:')
  expect(matcher.push('more')).toBe('')
  expect(matcher.flush()).toBe('')
})

test('the beginning of a stop string is released if the rest does not follow', () => {
  const matcher = stopMatcher(['aab'])
  expect(matcher.push('aa')).toBe('')
  expect(matcher.push('a')).toBe('a')
  expect(matcher.push('c')).toBe('aac')
  expect(matcher.push('aa')).toBe('')
  expect(matcher.flush()).toBe('aa')
  expect(matcher.matched).toBeUndefined()
})

test('without stop strings, or with an empty one, text passes at once', () => {
  expect(stopMatcher([]).push('abc')).toBe('abc')
  expect(stopMatcher(['']).push('abc')).toBe('abc')
})
