// Lists of steps on one thread, which plays each thread in turn. In: steps and their parts. Out: which units
// ran, and in which order.
import { expect, test } from 'vitest'
import { listedSteps } from '../testing/step-lists.ts'
import { runSteps } from './step-list.ts'

test('a thread alone computes its own slice in order, then the others from their ends', () => {
  const { state, list, ran, clear } = listedSteps(
    [
      [9, 4],
      [3, 1],
    ],
    2,
  )
  expect(runSteps(state, list, 0, 2)).toBe(true)
  expect(ran.splice(0)).toEqual(['0: 0-2', '0: 2-4', '0: 6-9', '0: 4-6', '1: 0-3'])
  clear()
  expect(runSteps(state, list, 1, 2)).toBe(true)
  expect(ran).toEqual(['0: 4-6', '0: 6-9', '0: 2-4', '0: 0-2', '1: 0-3'])
})

test('every unit runs once, whichever thread comes first, and a late thread repeats nothing', () => {
  for (const threads of [1, 2, 3, 5])
    for (const parts of [1, 2, 3, 4, 5, 12, 20])
      for (let first = 0; first < threads; first++) {
        const { state, list, ran } = listedSteps([[37, parts]], threads)
        for (let turn = 0; turn < threads; turn++) runSteps(state, list, (first + turn) % threads, threads)
        const ranges = ran.map((range) => range.replace('0: ', '').split('-').map(Number))
        const units = ranges.flatMap(([from, to]) =>
          Array.from({ length: to! - from! }, (_, at) => from! + at),
        )
        expect(ranges).toHaveLength(parts)
        expect(units.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 37 }, (_, unit) => unit))
      }
})
