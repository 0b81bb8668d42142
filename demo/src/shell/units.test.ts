// In: numbers. Out: their text for people.
import { expect, test, vi } from 'vitest'
import { speak } from '../words/words.ts'
import { bytes, duration, parameters, speed } from './units.ts'

test('sizes and times are those of the page’s language', async () => {
  expect([bytes(1_553_024), duration(150_000)]).toEqual(['1.6 MB', '3 min'])
  vi.stubGlobal('document', { documentElement: {} })
  await speak('he')
  expect([bytes(1_553_024), duration(150_000)]).toEqual(['\u20661.6 MB\u2069', '3 דק׳'])
  await speak('en')
  vi.unstubAllGlobals()
})

test('speed has the digits that mean something', () => {
  expect([0, 9.87, 123.4].map(speed)).toEqual(['0.0', '9.9', '123'])
})

test('parameters are millions or billions', () => {
  expect([2_361_408, 494e6, 1.5e9].map(parameters)).toEqual(['2.4 million', '494.0 million', '1.5 billion'])
})
