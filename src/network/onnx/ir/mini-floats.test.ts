// Floats of 8 and 4 bits. In: every pattern, and values between and beyond them. Out: values by the formats'
// definitions, the nearest pattern, and patterns that survive the round trip.
import { describe, expect, test } from 'vitest'
import { type MiniFloat, miniFloatOf, miniFloatPattern, toMiniFloat } from './mini-floats.ts'

/** Largest and smallest positive number, and number of patterns, by the tables of the formats' papers. */
const FORMATS: readonly (readonly [MiniFloat, number, number, number])[] = [
  ['f8e4m3fn', 448, 2 ** -9, 256],
  ['f8e4m3fnuz', 240, 2 ** -10, 256],
  ['f8e5m2', 57344, 2 ** -16, 256],
  ['f8e5m2fnuz', 57344, 2 ** -17, 256],
  ['f4e2m1', 6, 0.5, 16],
  ['f8e8m0', 2 ** 127, 2 ** -127, 256],
]

describe.each(FORMATS)('%s', (dtype, largest, smallest, count) => {
  const values = Array.from({ length: count }, (_, pattern) => miniFloatOf(dtype, pattern))
  const finite = values.filter(Number.isFinite)

  test('has the largest and smallest numbers of its definition', () => {
    expect(Math.max(...finite)).toBe(largest)
    expect(Math.min(...finite.filter((value) => value > 0))).toBe(smallest)
  })

  test('patterns survive the round trip, and their values round to themselves', () => {
    for (const [pattern, value] of values.entries()) {
      const again = miniFloatPattern(dtype, value)
      expect(miniFloatOf(dtype, again)).toBe(value)
      if (!Number.isNaN(value)) expect(again).toBe(pattern)
      if (Number.isFinite(value)) expect(toMiniFloat(dtype, value)).toBe(value)
    }
  })

  test('values between two numbers round to the nearer, or up to a power of two', () => {
    const sorted = [...new Set(finite)].sort((a, b) => a - b)
    for (const [at, low] of sorted.slice(0, -1).entries()) {
      const high = sorted[at + 1]!
      // Adding 0 makes a negative zero positive.
      const near = (share: number) => toMiniFloat(dtype, low + (high - low) * share) + 0
      expect([near(0.4), near(0.6)]).toEqual([dtype === 'f8e8m0' ? high : low, high])
    }
  })
})

test('a tie rounds to the even pattern', () => {
  expect([17, 19, -17, -19].map((value) => toMiniFloat('f8e4m3fn', value))).toEqual([16, 20, -16, -20])
  expect([2.5, 3.5].map((value) => toMiniFloat('f4e2m1', value))).toEqual([2, 4])
})

test.each<[MiniFloat, number, number]>([
  ['f8e4m3fn', 448, Number.NaN],
  ['f8e4m3fnuz', 240, Number.NaN],
  ['f8e5m2', 57344, Infinity],
  ['f4e2m1', 6, 6],
])('beyond its largest number, %s has %d if it saturates and %d otherwise', (dtype, most, beyond) => {
  for (const value of [most * 2, Infinity]) {
    expect(toMiniFloat(dtype, value)).toBe(most)
    expect(toMiniFloat(dtype, value, false)).toBe(beyond)
  }
})
