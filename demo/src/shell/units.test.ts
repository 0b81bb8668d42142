// In: numbers. Out: readable text.
import { expect, test, vi } from 'vitest'
import { speak } from '../words/words.ts'
import { bytes, duration, parameters, speed } from './units.ts'

test('sizes and times are formatted in the page’s language', async () => {
  expect([bytes(1_553_024), duration(150_000)]).toEqual(['1.6 MB', '3 min'])
  vi.stubGlobal('document', { documentElement: {} })
  await speak('he')
  expect([bytes(1_553_024), duration(150_000)]).toEqual(['\u20681.6 MB\u2069', '3 דק׳'])
  await speak('en')
  vi.unstubAllGlobals()
})

test('speed has only significant digits', () => {
  expect([0, 9.87, 123.4].map(speed)).toEqual(['0.0', '9.9', '123'])
})

test('parameters are in millions or billions, as in the browser’s format', async () => {
  const counts = [1e6, 2_361_408, 494e6, 999.94e6, 999.96e6, 1.5e9, 70e9]
  const { format } = new Intl.NumberFormat('en', {
    notation: 'compact',
    compactDisplay: 'long',
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  })
  expect(counts.map(parameters)).toEqual(counts.map((count) => format(count)))
  vi.stubGlobal('document', { documentElement: {} })
  await speak('he')
  expect(parameters(2_361_408)).toContain('2.4 מיליון')
  await speak('en')
  vi.unstubAllGlobals()
})
