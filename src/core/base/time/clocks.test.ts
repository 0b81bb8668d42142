// Tests clocks. In: impossible readings. Out: usable times.
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { dateNow, perSecond, steadyClock } from './clocks.ts'

test('no reading makes time negative, infinite or NaN, or lets it go backwards', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -1e300, max: 1e300, noDefaultInfinity: false }), { minLength: 1 }),
      (all) => {
        const readings = all.flatMap((each) => [
          each,
          Number.NaN,
          Number.POSITIVE_INFINITY,
          Number.NEGATIVE_INFINITY,
        ])
        const last = readings.length
        let at = 0
        const now = steadyClock(() => readings[at++]!)
        let before = 0
        while (at < last) {
          const time = now()
          expect(Number.isFinite(time) && time >= before).toBe(true)
          before = time
        }
      },
    ),
  )
})

test('time keeps advancing after a step backwards, and a regular clock is unchanged', () => {
  const readings = [5000, 5010, 1000, 1003, Number.NaN, 1004, 1004, 9004]
  const now = steadyClock(() => readings.shift()!)
  expect(readings.slice().map(() => now())).toEqual([0, 10, 10, 13, 13, 14, 14, 8014])
})

test('a rate is finite even if no time has passed', () => {
  for (const ms of [0, -1, Number.NaN]) expect(perSecond(3, ms)).toBe(0)
  expect(perSecond(3, 1500)).toBe(2)
})

test('a date can be stored whatever the device’s clock says', () => {
  for (const [date, stored] of [
    [-5, 0],
    [12.5, 12],
    [Number.NaN, 0],
  ] as const) {
    vi.spyOn(Date, 'now').mockReturnValueOnce(date)
    expect(dateNow()).toBe(stored)
  }
})
