// Tests lookup drafts. In: random texts over a small alphabet. Out: the same drafts as a brute-force search
// for the longest match of the text's end.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LookupDrafter } from './draft-lookup.ts'

/**
 * The longest suffix, at most 16 tokens, that also occurs earlier: its length and where its latest occurrence
 * ends.
 */
function longestMatch(tokens: readonly number[]): { length: number; end: number } {
  let best = { length: 0, end: -1 }
  const last = tokens.length - 1
  for (let end = last - 1; end >= 1; end--) {
    let length = 0
    while (length < 16 && length <= end && tokens[end - length] === tokens[last - length]) length++
    if (length > best.length) best = { length, end }
  }
  return best
}

const drafted = (drafter: LookupDrafter, count: number): number[] => {
  const out = new Int32Array(16)
  return [...out.subarray(0, drafter.draft(count, out))]
}

test('drafts the tokens after the latest of the longest matches, as the text grows', () => {
  fc.assert(
    fc.property(
      // Few enough that no pair of tokens occurs in more places than are compared.
      fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 30 }),
      (text) => {
        const drafter = new LookupDrafter()
        for (let length = 1; length <= text.length; length++) {
          const tokens = text.slice(0, length)
          const found = drafter.look(tokens)
          const match = longestMatch(tokens)
          expect(found > 0).toBe(match.length >= 2)
          if (found === 0) continue
          const follows = [...tokens]
          while (follows.length < length + 5) follows.push(follows[match.end + 1 + follows.length - length]!)
          expect(drafted(drafter, 5)).toEqual(follows.slice(length))
          expect(drafter.grade).toBe([2, 3, 4, 6, 9].findLastIndex((least) => match.length >= least))
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('a cyclic text is drafted cyclically', () => {
  const drafter = new LookupDrafter()
  expect(drafter.look([7, 8, 9, 7, 8, 9, 7, 8])).toBeGreaterThan(0)
  expect(drafted(drafter, 7)).toEqual([9, 7, 8, 9, 7, 8, 9])
})

test('lookup also works for long texts with large ids, and one token is not a match', () => {
  const drafter = new LookupDrafter()
  const text = Array.from({ length: 5000 }, (_, index) => 100_000 + ((index * 7919) % 4999))
  expect(drafter.look(text.slice(0, 4999))).toBe(0)
  const quoted = [...text, ...text.slice(1200, 1210)]
  drafter.look(quoted)
  expect(drafter.grade).toBe(4)
  expect(drafted(drafter, 15)).toEqual(text.slice(1210, 1225))
  expect(new LookupDrafter().look([5])).toBe(0)
  expect(new LookupDrafter().look([5, 6, 5])).toBe(0)
})
