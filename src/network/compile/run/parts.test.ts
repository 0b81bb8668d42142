// Tests the parts of a run. In: steps of a program. Out: whether the parts cover each step and each unit
// once, in order, and none takes much longer than the others.
import { expect, test } from 'vitest'
import { STEP_ENTRY_WORDS } from '../../../core/runtime/functions/step-list.ts'
import type { Step } from '../program/step.ts'
import { LEAST_STEPS, listOf, PART_STEPS, partsOf, type RunPart, sharedParts } from './parts.ts'

const step = (taken: number, units: number) => ({ taken, units }) as unknown as Step
const kernel = (taken: number) => ({ taken, kernel: {} }) as unknown as Step

const STEPS = [
  step(10, 4),
  step(2.5 * PART_STEPS, 7),
  kernel(3 * PART_STEPS),
  step(0.6 * PART_STEPS, 9),
  step(0.6 * PART_STEPS, 9),
  step(0, 0),
  step(9 * PART_STEPS, 2),
  step(1, 1),
]

const takenBy = ({ from, to, units }: RunPart): number => {
  const { taken, units: all } = STEPS[from] as { taken: number; units: number }
  if (units !== undefined) return (taken * (units.last - units.first)) / all
  return STEPS.slice(from, to).reduce((sum, each) => sum + each.taken, 0)
}

test.each([true, false])(
  'each step and each unit is in exactly one part (long steps are split: %s)',
  (cuts) => {
    const parts = partsOf(STEPS, cuts)
    const runs = STEPS.map(() => [] as number[])
    let last = 0
    for (const { from, to, units } of parts) {
      expect(from).toBeGreaterThanOrEqual(last - 1)
      last = to
      for (let at = from; at < to; at++) {
        const count = (STEPS[at] as { units?: number }).units ?? 1
        const { first, last: end } = units ?? { first: 0, last: count }
        for (let unit = first; unit < end; unit++) runs[at]!.push(unit)
      }
    }
    for (const [at, units] of runs.entries()) {
      const count = (STEPS[at] as { units?: number }).units ?? 1
      expect(units).toEqual(Array.from({ length: count }, (_, unit) => unit))
    }
    expect(last).toBe(STEPS.length)
    expect(parts.some(({ units }) => units !== undefined)).toBe(cuts)
  },
)

test('a part ends at its limit, and long steps are split where possible', () => {
  for (const part of partsOf(STEPS, true)) {
    const { from, units } = part
    const isWhole = from === 2 || from === 6
    if (!isWhole) expect(takenBy(part)).toBeLessThanOrEqual(2 * PART_STEPS)
    if (from === 6) expect(units).toBeDefined()
  }
})

test("a part of a thread's list begins at its step", () => {
  const list = { entries: 1000, count: 8, states: 600 }
  expect(listOf(list, { from: 2, to: 5 }, 3)).toEqual({
    entries: 1000 + 2 * 4 * STEP_ENTRY_WORDS,
    count: 3,
    states: 600 + 2 * 4 * 4,
  })
})

test('a step has four parts per thread, but only parts that are worth a claim', () => {
  expect(sharedParts(step(8 * LEAST_STEPS, 160), 2, LEAST_STEPS)).toBe(8)
  expect(sharedParts(step(80 * LEAST_STEPS, 160), 2, LEAST_STEPS)).toBe(8)
  expect(sharedParts(step(80 * LEAST_STEPS, 3), 2, LEAST_STEPS)).toBe(2)
  expect(sharedParts(step(2 * LEAST_STEPS, 160), 2, LEAST_STEPS)).toBe(2)
  expect(sharedParts(step(2 * LEAST_STEPS, 160), 4, LEAST_STEPS)).toBe(2)
  expect(sharedParts(step(LEAST_STEPS, 160), 2, LEAST_STEPS)).toBe(1)
  expect(sharedParts(step(1, 160), 2, LEAST_STEPS)).toBe(1)
  expect(sharedParts(step(1, 160), 2, 0)).toBe(8)
  expect(sharedParts(step(0, 0), 2, LEAST_STEPS)).toBe(1)
  expect(sharedParts(kernel(2 * LEAST_STEPS), 2, LEAST_STEPS)).toBe(0)
  expect(sharedParts(kernel(LEAST_STEPS), 2, LEAST_STEPS)).toBe(1)
})
