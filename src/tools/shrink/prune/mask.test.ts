// Masks from scores. In: random scores with many ties. Out: whether a mask drops what sorting would drop.
import { expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { keepHighest } from './mask.ts'

/** Positions of the lowest scores; ties go to the first. */
const lowest = (scores: readonly number[], count: number): number[] =>
  [...scores.keys()]
    .sort((a, b) => scores[a]! - scores[b]! || a - b)
    .slice(0, count)
    .sort((a, b) => a - b)

test.each([1, 3, 40, 1e9])('drops the lowest scores, of %i values', (values) => {
  const random = new Random(values)
  for (let length = 1; length < 70; length++) {
    const scores = Array.from({ length }, () => Math.floor(random.unit() * values))
    const row = Float64Array.from([-1, ...scores, -1])
    for (const count of [0, 1, length >> 1, length - 1, length]) {
      const kept = keepHighest(row, 1, length, count)
      expect([...kept.keys()].filter((at) => kept[at] === 0)).toEqual(lowest(scores, count))
    }
    expect([...row.subarray(1, length + 1)]).toEqual(scores)
  }
})
