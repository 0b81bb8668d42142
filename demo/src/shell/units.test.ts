// In: numbers. Out: their text for people.
import { expect, test } from 'vitest'
import { bytes, duration, parameters, speed } from './units.ts'

test('bytes are megabytes until they are gigabytes', () => {
  expect([1_553_024, 350e6, 2.5e9].map(bytes)).toEqual(['1.6 MB', '350 MB', '2.50 GB'])
})

test('time left is never nothing, and never 60 seconds', () => {
  expect([0, 59_400, 59_600, 150_000, 7_300_000].map(duration)).toEqual([
    '1 s',
    '59 s',
    '1 min',
    '3 min',
    '2 h 2 min',
  ])
})

test('speed has the digits that mean something', () => {
  expect([0, 9.87, 123.4].map(speed)).toEqual(['0.0', '9.9', '123'])
})

test('parameters are millions or billions', () => {
  expect([2_361_408, 494e6, 1.5e9].map(parameters)).toEqual(['2.4 million', '494.0 million', '1.5 billion'])
})
