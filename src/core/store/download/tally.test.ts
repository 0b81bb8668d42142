// Tests tallies. In: bytes of several files, on a fake clock. Out: sums, a rate over the last seconds, the
// time left.
import { expect, test } from 'vitest'
import { type DownloadProgress, Tally } from './tally.ts'

function counted() {
  let now = 0
  const seen: DownloadProgress[] = []
  const tally = new Tally(
    (progress) => seen.push(progress),
    () => now,
  )
  const at = (seconds: number) => {
    now = seconds * 1000
  }
  return { tally, at, last: () => seen.at(-1) }
}

test('files add up, and stored ones do not need fetching', () => {
  const { tally, last } = counted()
  tally.stored(10)
  tally.stored(5)
  expect(last()).toEqual({ phase: 'download', loaded: 15, total: 15, cached: true })
  tally.file()(0, 100)
  expect(last()).toEqual({ phase: 'download', loaded: 15, total: 115, cached: false })
})

test('the rate covers the last seconds, and the time left follows from it', () => {
  const { tally, at, last } = counted()
  const one = tally.file()
  const two = tally.file()
  one(0, 1000)
  two(0, 1000)
  at(1)
  one(100, 1000)
  expect(last()).toEqual({
    phase: 'download',
    loaded: 100,
    total: 2000,
    cached: false,
    bytesPerSecond: 100,
    secondsLeft: 19,
  })
  at(2)
  two(100, 1000)
  expect(last()).toMatchObject({ bytesPerSecond: 100, secondsLeft: 18 })
  for (let second = 3; second <= 20; second++) {
    at(second)
    one(100 + second, 1000)
  }
  expect(last()?.bytesPerSecond).toBeLessThan(2)
})

test('a request that waits to be retried is reported while others receive bytes, until its wait is over', () => {
  const { tally, at, last } = counted()
  const file = tally.file()
  const retry = { attempt: 2, attempts: 6, waitMs: 4000, reason: 'it broke off' }
  const waited = tally.retry(retry)
  expect(last()?.retry).toEqual(retry)
  at(1)
  file(10, 100)
  expect(last()?.retry).toEqual({ ...retry, waitMs: 3000 })
  const other = tally.retry({ ...retry, attempt: 3, waitMs: 500 })
  expect(last()?.retry).toMatchObject({ attempt: 3, waitMs: 500 })
  other()
  expect(last()?.retry).toEqual({ ...retry, waitMs: 3000 })
  waited()
  expect(last()).not.toHaveProperty('retry')
})

test('bytes from an earlier visit count as loaded, but not for the rate', () => {
  const { tally, at, last } = counted()
  const file = tally.file()
  file(900, 1000)
  expect(last()).toEqual({ phase: 'download', loaded: 900, total: 1000, cached: false })
  at(1)
  file(910, 1000)
  expect(last()).toMatchObject({ bytesPerSecond: 10, secondsLeft: 9 })
})

test('files that have not started are assumed to be as long as the longest one that has', () => {
  const { tally, at, last } = counted()
  tally.left = 2
  const file = tally.file()
  file(0, 1000)
  at(1)
  file(100, 1000)
  expect(last()).toMatchObject({ loaded: 100, total: 1000, secondsLeft: 29 })
  tally.left = 0
  tally.stored(5)
  expect(last()).toMatchObject({ secondsLeft: 9 })
})

test('if the size of a file is unknown, so is the time left', () => {
  const { tally, at, last } = counted()
  const one = tally.file()
  const two = tally.file()
  one(0, 0)
  two(0, 1000)
  at(1)
  one(10, 0)
  expect(last()).toEqual({ phase: 'download', loaded: 10, total: 1010, cached: false, bytesPerSecond: 10 })
})

test('after a clock was set back, the next bytes give a rate again', () => {
  const { tally, at, last } = counted()
  const file = tally.file()
  at(7200)
  file(0, 1000)
  at(3600)
  file(10, 1000)
  at(3601)
  file(20, 1000)
  expect(last()).toMatchObject({ bytesPerSecond: 20, secondsLeft: 49 })
})
