// In: new text at given times. Out: when it is saved.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { GrowthSaver } from './growth-saver.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** The times of the saves, in milliseconds from now. */
function saver() {
  const began = performance.now()
  const times: number[] = []
  return { times, it: new GrowthSaver(() => times.push(performance.now() - began)) }
}

test('the first text is saved at once, and later text within half a second', () => {
  const { it, times } = saver()
  for (let ms = 0; ms < 1100; ms += 100) {
    it.grown()
    vi.advanceTimersByTime(100)
  }
  vi.advanceTimersByTime(5000)
  expect(times).toEqual([0, 500, 1000, 1500])
})

test('text is saved without a timer if timers are late', () => {
  const { it, times } = saver()
  vi.stubGlobal('setTimeout', () => 1)
  for (const ms of [0, 300, 400]) {
    vi.advanceTimersByTime(ms)
    it.grown()
  }
  vi.unstubAllGlobals()
  expect(times).toEqual([0, 700])
})

test('a page that may end saves pending changes once', () => {
  const { it, times } = saver()
  it.grown()
  it.flush()
  vi.advanceTimersByTime(10)
  it.grown()
  it.flush()
  it.flush()
  vi.advanceTimersByTime(5000)
  expect(times).toEqual([0, 10])
})

test('nothing is saved after the end, and the next answer is saved at once', () => {
  const { it, times } = saver()
  it.grown()
  vi.advanceTimersByTime(10)
  it.grown()
  it.end()
  vi.advanceTimersByTime(90)
  it.grown()
  expect(times).toEqual([0, 100])
})
