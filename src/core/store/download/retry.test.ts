// Tests retrying. In: work that fails, on a fake clock. Out: the delays, and when retrying stops.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { HalfbyteError } from '../../base/errors.ts'
import { type Retry, type RetryOptions, retrying } from './retry.ts'

const broken = (detail = {}) => new HalfbyteError('network', 'it broke off', detail)

beforeEach(() => {
  vi.useFakeTimers()
  // The mean of the random part.
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

/** When each attempt began, in milliseconds, and how it ended. */
async function triesOf(
  work: (attempt: number, progressed: () => void) => void,
  options?: RetryOptions,
  isFirst = false,
) {
  const begun: number[] = []
  const start = Date.now()
  const result = retrying(
    async (progressed) => {
      begun.push(Date.now() - start)
      work(begun.length, progressed)
      return 'done'
    },
    options,
    isFirst,
  ).catch((error) => error)
  await vi.runAllTimersAsync()
  return { begun, result: await result }
}

test('delays double up to 30 s, and the error is thrown after the last attempt', async () => {
  const error = broken()
  const { begun, result } = await triesOf(
    () => {
      throw error
    },
    { attempts: 9 },
  )
  expect(result).toBe(error)
  expect(begun.map((at, index) => at - (begun[index - 1] ?? 0))).toEqual([
    0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000,
  ])
})

test('an address that has never answered is abandoned within 2 s; one that has answered gets every attempt', async () => {
  const error = broken()
  const throwing = (thrown: Error) => () => {
    throw thrown
  }
  const { begun, result } = await triesOf(throwing(error), {}, true)
  expect(result).toBe(error)
  expect(begun).toEqual([0, 500, 1500])
  vi.spyOn(Math, 'random').mockReturnValue(0.99)
  expect((await triesOf(throwing(error), {}, true)).begun.at(-1)).toBeLessThanOrEqual(1800)
  for (const detail of [{ status: 503 }, { loaded: 5, total: 10 }]) {
    expect((await triesOf(throwing(broken(detail)), {}, true)).begun).toHaveLength(6)
  }
})

test('pages that were disconnected together retry at different times', async () => {
  const waits = new Set<number>()
  for (const chance of [0, 0.5, 0.99]) {
    vi.spyOn(Math, 'random').mockReturnValue(chance)
    const { begun } = await triesOf((attempt) => {
      if (attempt === 1) throw broken()
    })
    waits.add(begun[1]!)
  }
  expect([...waits].map(Math.round)).toEqual([375, 500, 622])
})

test('new bytes reset the delay, and attempts that receive some do not count', async () => {
  const { begun, result } = await triesOf(
    (attempt, progressed) => {
      progressed()
      if (attempt < 10) throw broken()
    },
    { attempts: 2 },
  )
  expect(result).toBe('done')
  expect(begun).toEqual(Array.from({ length: 10 }, (_, index) => 500 * index))
})

test('Retry-After is honoured up to 30 s', async () => {
  const { begun } = await triesOf((attempt) => {
    if (attempt === 1) throw broken({ status: 429, retryAfter: 7 })
    if (attempt === 2) throw broken({ status: 503, retryAfter: 3600 })
  })
  expect(begun).toEqual([0, 7000, 37_000])
})

test('each wait is reported, with its reason and the next attempt', async () => {
  const told: (Retry | 'waited')[] = []
  await triesOf(
    (attempt, progressed) => {
      if (attempt === 3) progressed()
      if (attempt < 4) throw broken()
    },
    {
      onRetry: (retry) => {
        told.push(retry)
        return () => told.push('waited')
      },
    },
  )
  const reason = 'it broke off'
  expect(told).toEqual([
    { attempt: 2, attempts: 6, waitMs: 500, reason },
    'waited',
    { attempt: 3, attempts: 6, waitMs: 1000, reason },
    'waited',
    { attempt: 2, attempts: 6, waitMs: 500, reason },
    'waited',
  ])
})

test('permanent errors are not retried', async () => {
  const errors = [broken({ status: 403 }), new HalfbyteError('integrity', 'it changed'), new Error('a bug')]
  for (const error of errors) {
    const { begun, result } = await triesOf(() => {
      throw error
    })
    expect(result).toBe(error)
    expect(begun).toEqual([0])
  }
})

test('a device that is online again stops waiting, and an abort ends the wait with its reason', async () => {
  const page = new EventTarget()
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
  const abort = new AbortController()
  let tries = 0
  const result = retrying(
    async () => {
      tries++
      throw broken()
    },
    { signal: abort.signal },
  ).catch((error) => error)
  await vi.advanceTimersByTimeAsync(10)
  expect(tries).toBe(1)
  page.dispatchEvent(new Event('online'))
  await vi.advanceTimersByTimeAsync(10)
  expect(tries).toBe(2)
  const reason = new Error('enough')
  abort.abort(reason)
  expect(await result).toBe(reason)
  await vi.runAllTimersAsync()
  expect(tries).toBe(2)
})

test.each([
  ['stands still', () => 7],
  ['goes backwards', (reading: number) => -3_600_000 * reading],
  ['says nonsense', (reading: number) => (reading % 2 === 0 ? Number.NaN : Number.NEGATIVE_INFINITY)],
])('an address that never answers is abandoned just as soon with a clock that %s', async (_, clock) => {
  const error = broken()
  const work = () => {
    throw error
  }
  const { begun: usual } = await triesOf(work, {}, true)
  let readings = 0
  vi.spyOn(performance, 'now').mockImplementation(() => clock(readings++))
  const { begun, result } = await triesOf(work, {}, true)
  expect(result).toBe(error)
  expect(begun).toEqual(usual)
})

test('a device that sleeps between two attempts abandons an address, and the next load tries again', async () => {
  const error = broken()
  let readings = 0
  vi.spyOn(performance, 'now').mockImplementation(() => 3_600_000 * readings++)
  const { begun, result } = await triesOf(
    () => {
      throw error
    },
    {},
    true,
  )
  expect({ tries: begun.length, result }).toEqual({ tries: 1, result: error })
})
