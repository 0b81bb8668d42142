// Tests lookup drafts. In: random texts over a small alphabet. Out: the same drafts as a brute-force search
// for the longest match of the text's end, and drafts that follow an edited copy.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GRADES } from '../schedule/speculation.ts'
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
          expect(found > 0 || match.length < 2).toBe(true)
          // A resumed copy has no match, or a match as long as the longest.
          if (match.length < 2 || drafter.gradeAt(0) >= GRADES.resumed) continue
          const follows = [...tokens]
          while (follows.length < length + 5) follows.push(follows[match.end + 1 + follows.length - length]!)
          expect(drafted(drafter, 5)).toEqual(follows.slice(length))
          expect(drafter.gradeAt(0)).toBe([2, 3, 4, 6, 9, 16].findLastIndex((least) => match.length >= least))
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
  expect([0, 5, 6].map((index) => drafter.gradeAt(index))).toEqual([4, 4, 5])
  expect(drafted(drafter, 15)).toEqual(text.slice(1210, 1225))
  expect(new LookupDrafter().look([5])).toBe(0)
  expect(new LookupDrafter().look([5, 6, 5])).toBe(0)
})

describe('an edited copy', () => {
  const original = Array.from({ length: 40 }, (_, index) => 100 + index)
  /** What is drafted, and how certain it is, after each token of `copy` from `from` on. */
  function draftsAfter(copy: readonly number[], from: number) {
    const drafter = new LookupDrafter()
    const drafts: { ids: readonly number[]; grade: number }[] = []
    for (let length = 1; length <= copy.length; length++) {
      const found = drafter.look([...original, ...copy.slice(0, length)])
      const ids = found > 0 ? drafted(drafter, 3) : []
      if (length > from) drafts.push({ ids, grade: found > 0 ? drafter.gradeAt(0) - GRADES.resumed : -1 })
    }
    return drafts
  }

  test('is resumed directly after a replaced token', () => {
    expect(draftsAfter([...original.slice(0, 10), 7, 111, 112], 10)).toEqual([
      { ids: [111, 112, 113], grade: 0 },
      { ids: [112, 113, 114], grade: 1 },
      { ids: [113, 114, 115], grade: 2 },
    ])
  })

  test('is resumed one token after an insertion or an omission', () => {
    const [, inserted] = draftsAfter([...original.slice(0, 10), 7, 110], 10)
    expect(inserted).toEqual({ ids: [111, 112, 113], grade: 1 })
    const [omitted] = draftsAfter([...original.slice(0, 10), 115], 10)
    expect(omitted).toEqual({ ids: [116, 117, 118], grade: 1 })
  })

  test('is given up after a long detour', () => {
    const detour = [1, 2, 3, 4, 5, 6, 7, 8, 110]
    expect(draftsAfter([...original.slice(0, 10), ...detour], 18)).toEqual([{ ids: [], grade: -1 }])
  })

  test('becomes more certain the further its drafts go', () => {
    const drafter = new LookupDrafter()
    drafter.look([...original, ...original.slice(0, 10)])
    drafter.look([...original, ...original.slice(0, 10), 7])
    const grades = [0, 1, 2, 3, 4, 6, 9].map((index) => drafter.gradeAt(index))
    expect(grades).toEqual([...[0, 1, 2, 2].map((grade) => GRADES.resumed + grade), 2, 3, 4])
  })
})
