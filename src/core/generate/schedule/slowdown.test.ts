// Tests slowdown. In: step times. Out: one report if steps have been slow for seconds, otherwise none.
import { describe, expect, test } from 'vitest'
import { engineOf, expected, greedy, promptOf } from '../testing/hash-engine.ts'
import { Slowdown } from './slowdown.ts'

/** Reports for `count` steps with `rows` rows that take `ms`. */
const reports = (slowdown: Slowdown, count: number, ms: number, rows = 1): number => {
  let found = 0
  for (let step = 0; step < count; step++) if (slowdown.observe(rows, ms)) found++
  return found
}

describe('Slowdown', () => {
  test.each([60, 26])('reports steps of %d ms instead of 20 within 1.5 seconds, once', (ms) => {
    const slowdown = new Slowdown()
    expect(reports(slowdown, 104, 20)).toBe(0)
    expect(reports(slowdown, Math.floor(900 / ms), ms)).toBe(0)
    expect(reports(slowdown, Math.ceil(600 / ms), ms)).toBe(1)
    expect(reports(slowdown, 500, ms)).toBe(0)
  })
  test('does not report steps whose times vary around the same mean', () => {
    const slowdown = new Slowdown()
    for (let step = 0; step < 5000; step++) {
      expect(slowdown.observe(1, 15 + ((step * 7919) % 11) + (step % 5 === 0 ? 20 : 0))).toBe(false)
    }
  })
  test('doubles the wait each time that measuring changes nothing, until it changes something', () => {
    const slowdown = new Slowdown()
    const secondsUntil = (ms: number): number => {
      let seconds = 0
      do seconds += ms / 1000
      while (!slowdown.observe(1, ms))
      return seconds
    }
    let ms = 10
    for (const seconds of [1, 2, 4, 8]) {
      reports(slowdown, 100, ms)
      ms *= 2
      const waited = secondsUntil(ms)
      expect(waited).toBeGreaterThanOrEqual(seconds)
      expect(waited).toBeLessThan(seconds + 0.6)
      slowdown.settle(false)
    }
    slowdown.settle(true)
    reports(slowdown, 50, ms)
    expect(secondsUntil(2 * ms)).toBeLessThan(1.7)
  })
  test('does not report a pause, or slow steps between normal ones', () => {
    const slowdown = new Slowdown()
    reports(slowdown, 100, 20)
    expect(reports(slowdown, 1, 2500)).toBe(0)
    expect(reports(slowdown, 25, 20)).toBe(0)
    for (let turn = 0; turn < 50; turn++) {
      expect(reports(slowdown, 6, 100)).toBe(0)
      expect(reports(slowdown, 25, 20)).toBe(0)
    }
  })
  test('with fewer threads, requests a new measurement after half a minute, then after twice as long each time', () => {
    const slowdown = new Slowdown()
    reports(slowdown, 100, 20)
    const slow = Array.from({ length: 10 }, () => slowdown.observe(1, 600))
    expect(slow.indexOf(true)).toBe(1)
    slowdown.settle(true)
    for (const seconds of [30, 60, 120]) {
      expect(reports(slowdown, seconds * 10 - 1, 100)).toBe(0)
      expect(reports(slowdown, 1, 100)).toBe(1)
      slowdown.settle(true)
    }
    expect(reports(slowdown, 2400, 100)).toBe(1)
    slowdown.settle(false)
    expect(reports(slowdown, 100_000, 100)).toBe(0)
  })
  test('restarts at half a minute if the threads return and are lost again', () => {
    const slowdown = new Slowdown()
    for (const seconds of [30, 60]) {
      slowdown.settle(true)
      expect(reports(slowdown, seconds * 10, 100)).toBe(1)
    }
    slowdown.settle(false)
    slowdown.settle(true)
    expect(reports(slowdown, 299, 100)).toBe(0)
    expect(reports(slowdown, 1, 100)).toBe(1)
  })
  test('also counts slowness while waiting', () => {
    const slowdown = new Slowdown()
    slowdown.settle(true)
    expect(reports(slowdown, 50, 20)).toBe(0)
    expect(reports(slowdown, 50, 60)).toBe(1)
  })
  test('follows a context that grows', () => {
    const slowdown = new Slowdown()
    for (let step = 0; step < 4000; step++) expect(slowdown.observe(1, 20 + step / 100)).toBe(false)
  })
  test('compares only steps with the same number of rows', () => {
    const slowdown = new Slowdown()
    reports(slowdown, 10, 20, 1)
    expect(reports(slowdown, 500, 60, 8)).toBe(0)
    expect(reports(slowdown, 500, 900, 200)).toBe(0)
  })
})

test('a scheduler whose steps have become slow measures the machine again, once, and continues', async () => {
  let measured = 0
  const retune = async (): Promise<boolean> => {
    measured++
    return false
  }
  const { scheduler, pool, clock, sequenceOf } = engineOf({ retune })
  pool.onRun = (rows) => {
    clock.ms += pool.steps.length < 50 ? 20 : 60 + rows
  }
  const sequence = sequenceOf(promptOf(100))
  await scheduler.generate({ sequence, sampler: greedy, maxTokens: 160 })
  expect(sequence.tokens.slice(100)).toEqual(expected(promptOf(100), 160))
  expect(measured).toBe(1)
})

test('a scheduler that lost threads keeps trying to get them back, across replies', async () => {
  const counts: number[] = []
  let threads = 2
  let isWell = true
  const retune = async (): Promise<boolean> => {
    threads = isWell ? 2 : 1
    counts.push(threads)
    return threads < 2
  }
  const { scheduler, pool, clock, sequenceOf } = engineOf({ retune })
  pool.onRun = (rows) => {
    clock.ms += (isWell && threads === 2 ? 500 : 1000) + rows
  }
  const reply = async (maxTokens: number) => {
    await scheduler.generate({ sequence: sequenceOf(promptOf(10)), sampler: greedy, maxTokens })
    return counts.splice(0)
  }
  expect(await reply(80)).toEqual([])
  isWell = false
  expect(await reply(5)).toEqual([1])
  expect(await reply(25)).toEqual([])
  expect(await reply(8)).toEqual([1])
  isWell = true
  expect(await reply(50)).toEqual([])
  expect(await reply(15)).toEqual([2])
  expect(await reply(400)).toEqual([])
})
