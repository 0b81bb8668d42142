// Tests the median, minimum and maximum of samples.
import { expect, test } from 'vitest'
import { spread } from './spread.ts'

test('the median of an even number of samples is the mean of the middle two', () => {
  expect(spread([4, 1, 3, 2])).toEqual({ median: 2.5, min: 1, max: 4 })
  expect(spread([3, 1, 2]).median).toBe(2)
  expect(spread([]).median).toBeNaN()
})
