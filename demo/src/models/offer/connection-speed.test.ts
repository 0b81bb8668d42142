// The connection's speed. In: finished transfers and the browser's estimate. Out: bytes per second.
import { expect, test } from 'vitest'
import { connectionSpeed } from './connection-speed.ts'

const load = (transferSize: number, ms: number) => ({
  transferSize,
  responseStart: 100,
  responseEnd: 100 + ms,
})

test('is that of the largest download', () => {
  expect(connectionSpeed([load(1e6, 10), load(5e6, 2000), load(300, 1)], 10)).toBe(2.5e6)
})

test('is the browser’s estimate if all transfers came from a cache or were small', () => {
  expect(connectionSpeed([load(0, 5), load(9e5, 900)], 4)).toBe(5e5)
  expect(connectionSpeed([], 0.4)).toBe(5e4)
})

test('is unknown without transfers and without an estimate', () => {
  expect(connectionSpeed([], undefined)).toBeUndefined()
  expect(connectionSpeed([load(5e6, 0)], 0)).toBeUndefined()
})
