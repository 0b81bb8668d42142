// Tests drafts from a constraint. In: the expected text. Out: its ids.
import { expect, test } from 'vitest'
import { GRADES } from '../schedule/speculation.ts'
import { ExpectedDrafter } from './draft-expected.ts'

test('the text expected by the constraint is drafted', () => {
  let expectedIds = [7, 8, 9]
  const drafter = new ExpectedDrafter({ expectedIds: () => expectedIds })
  const out = new Int32Array(4)
  expect(drafter.look()).toBe(3)
  expect(drafter.draft(2, out)).toBe(2)
  expect([...out]).toEqual([7, 8, 0, 0])
  expect(drafter.gradeAt()).toBe(GRADES.expected)
  expectedIds = []
  expect(drafter.look()).toBe(0)
})
