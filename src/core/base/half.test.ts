// Tests of f16 conversion. In: every pattern and numbers between them. Out: exact inverses and ties to even.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { floatsToHalves, floatToHalf, halfTable, halfToFloat } from './half.ts'

test('every pattern except NaNs survives the round trip to a number and back', () => {
  for (let pattern = 0; pattern < 65536; pattern++) {
    const value = halfToFloat(pattern)
    if (!Number.isNaN(value)) expect(floatToHalf(value)).toBe(pattern)
    else expect(floatToHalf(value) & 0x7c00).toBe(0x7c00)
  }
})

test('known values from the standard convert exactly', () => {
  expect(halfToFloat(0x3c00)).toBe(1)
  expect(halfToFloat(0xc000)).toBe(-2)
  expect(halfToFloat(0x7bff)).toBe(65504)
  expect(halfToFloat(0x0400)).toBe(2 ** -14)
  expect(halfToFloat(0x0001)).toBe(2 ** -24)
  expect(halfToFloat(0x3555)).toBe(0.333251953125)
  expect(halfToFloat(0xfc00)).toBe(-Infinity)
})

test('a number rounds to the nearest pattern, ties to the even one', () => {
  const values = halfTable()
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 0x7bfe }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (pattern, part) => {
        const low = values[pattern]!
        const high = values[pattern + 1]!
        const rounded = floatToHalf(low + (high - low) * part)
        const expected = part < 0.5 ? pattern : part > 0.5 ? pattern + 1 : pattern + (pattern & 1)
        expect(rounded).toBe(expected)
        expect(floatToHalf(-(low + (high - low) * part))).toBe(rounded | 0x8000)
      },
    ),
  )
  expect(floatToHalf(65519.9)).toBe(0x7bff)
  expect(floatToHalf(65520)).toBe(0x7c00)
  expect(floatToHalf(2 ** -26)).toBe(0)
})

test('converting many f32 numbers rounds each as a single conversion does', () => {
  const ends = [...halfTable()].flatMap((value) => {
    const next = Math.fround(value * (1 + 2 ** -11))
    return [value, next, Math.fround(next * (1 + 2 ** -22)), Math.fround(next * (1 - 2 ** -22))]
  })
  const others = [65519.9, 65520, 1e38, -1e38, 2 ** -14, 2 ** -14.5, 2 ** -26, 1e-40, -0, Number.NaN]
  const values = Float32Array.from([...ends, ...others])
  expect(floatsToHalves(values)).toEqual(Uint16Array.from(values, floatToHalf))
})
