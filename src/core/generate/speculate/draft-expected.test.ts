// Tests drafts from a constraint. In: the expected text, and a text. Out: its ids, or the other drafter's if
// nothing is expected or the other drafter is confident.
import { expect, test } from 'vitest'
import { EXPECTED_GRADE } from '../schedule/speculation.ts'
import { ExpectedDrafter } from './draft-expected.ts'
import { LookupDrafter } from './draft-lookup.ts'

/** The drafts after `text`, and their grade. */
function draftsAfter(text: readonly number[], expectedIds: readonly number[]) {
  const drafter = new ExpectedDrafter({ expectedIds: () => expectedIds }, new LookupDrafter())
  const found = drafter.look(text)
  const out = new Int32Array(16)
  const count = drafter.draft(Math.min(found, 4), out)
  return { ids: [...out.subarray(0, found > 0 ? count : 0)], grade: drafter.grade, ms: drafter.msPerDraft }
}

test('the text expected by the constraint is drafted, despite a short match', () => {
  const expected = { ids: [7, 8], grade: EXPECTED_GRADE, ms: 0 }
  expect(draftsAfter([1, 2, 3], [7, 8])).toEqual(expected)
  expect(draftsAfter([1, 2, 3, 4, 1, 2], [7, 8])).toEqual(expected)
})

test('a long match takes precedence, and so does any match if nothing is expected', () => {
  const text = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6]
  expect(draftsAfter(text, [9])).toEqual({ ids: [7, 8, 1, 2], grade: 3, ms: 0 })
  expect(draftsAfter([1, 2, 3, 4, 1, 2], [])).toEqual({ ids: [3, 4, 1, 2], grade: 0, ms: 0 })
  expect(draftsAfter([1, 2, 3], []).ids).toEqual([])
})
