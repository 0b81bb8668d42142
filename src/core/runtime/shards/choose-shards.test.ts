// Tests the choice of shards. In: workers with simulated speeds, on a simulated clock. Out: how many of them
// are used, and each one's share.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Arena } from '../memory/arena.ts'
import type { EngineExports } from '../module.ts'
import { chooseShares, type MeasuredGroup, measureRate, measureShares, sharesOf } from './choose-shards.ts'

const clock = { ms: 0 }
beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => clock.ms))
afterEach(() => vi.restoreAllMocks())

/** A thread with its own memory, in which each run of the measured kernel takes a millisecond. */
function thread() {
  const arena = new Arena(new WebAssembly.Memory({ initial: 32 }), 64)
  const engine = {
    run: () => {
      clock.ms++
      return 0
    },
  } as unknown as EngineExports
  return { arena, engine, own: measureRate(engine, arena, 36) }
}

/**
 * The shares of this thread and of others, whose speeds are relative to it. Rows take `meetMs` to reach the
 * others. A step takes 100 ms on this thread alone.
 */
function choose(speeds: readonly number[], meetMs: number): Promise<number[]> {
  const { own, ...machine } = thread()
  const group: MeasuredGroup = {
    shards: speeds.length + 1,
    measure: async (shards) => speeds.slice(0, shards - 1).map((speed) => speed * own),
    meet: async () => meetMs,
  }
  const step = { decodeBytes: 100 * own, meetings: 50, width: 896 }
  return chooseShares(group, { ...machine, ...step, now: () => clock.ms })
}

test.each([
  ['stands still', (ms: number) => ms],
  ['goes backwards', (ms: number) => ms - 3_600_000],
  ['says nothing', () => Number.NaN],
])('measuring terminates with a finite rate on a clock that %s', (_, next) => {
  const arena = new Arena(new WebAssembly.Memory({ initial: 256 }), 64)
  let ms = 0
  const engine = { run: () => 0 } as unknown as EngineExports
  const rate = measureRate(engine, arena, 36, () => {
    ms = next(ms)
    return ms
  })
  expect(Number.isFinite(rate) && rate > 0).toBe(true)
})

describe('shares', () => {
  test('are equal if speeds differ by no more than the noise of short measurements', () => {
    expect(sharesOf([100, 100])).toEqual([1, 1])
    expect(sharesOf([100, 89, 95])).toEqual([1, 1, 1])
  })

  test('are proportional to speed if a worker is slower', () => {
    expect(sharesOf([100, 87])).toEqual([100, 87])
    expect(sharesOf([30, 100, 90])).toEqual([30, 100, 90])
  })
})

describe('a group that was measured', () => {
  test('includes all workers that save time', async () => {
    expect(await choose([1, 1, 1], 0.05)).toEqual([1, 1, 1, 1])
  })

  test('leaves out a worker that saves less than its core is worth', async () => {
    expect(await choose([1, 0.05], 0.05)).toEqual([1, 1])
  })

  test('is one thread if messages cost more than they save', async () => {
    expect(await choose([1, 1], 1.5)).toEqual([1])
    expect(await choose([1], 0.9)).toHaveLength(2)
  })

  test('gives a worker with a third of the speed a third of the share', async () => {
    const [first = 0, second = 0] = await choose([1 / 3], 0.05)
    expect(second / first).toBeCloseTo(1 / 3)
  })
})

test('this thread is measured together with the others, and its memory is unchanged afterwards', async () => {
  const { arena, engine } = thread()
  const mark = arena.mark()
  let end = (_: number[]): void => {}
  const rates = new Promise<number[]>((resolve) => {
    end = resolve
  })
  const group: MeasuredGroup = { shards: 2, measure: () => rates, meet: async () => 0 }
  const before = clock.ms
  const measured = measureShares(
    group,
    { arena, engine, now: () => 0, decodeBytes: 1, meetings: 1, width: 1 },
    2,
  )
  expect(clock.ms).toBeGreaterThan(before + 36)
  end([7])
  expect((await measured)[1]).toBe(7)
  expect(arena.mark()).toBe(mark)
  expect(arena.u8.subarray(mark).every((byte) => byte === 0)).toBe(true)
})

test.each([
  ['in all but one measurement', [0.3, 1, 1], [1, 1]],
  ['in every measurement', [0.3, 0.5, 0.4], [1, 0.5]],
])('a worker that is slow %s', async (_, speeds, shares) => {
  const { own, ...machine } = thread()
  const rest = [...speeds]
  const group: MeasuredGroup = {
    shards: 2,
    measure: async () => [own * rest.shift()!],
    meet: async () => 0,
  }
  const step = { now: () => 0, decodeBytes: 1, meetings: 1, width: 1 }
  const found = sharesOf(await measureShares(group, { ...machine, ...step }, 2))
  expect(found[1]! / found[0]!).toBeCloseTo(shares[1]! / shares[0]!)
})
