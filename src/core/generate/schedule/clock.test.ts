// Tests a scheduler's clock. In: requests on a hash model while the clock jumps, stands still or returns
// nonsense. Out: the same tokens, finite timings, and no endless waits.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { engineOf, expected, greedy, promptOf } from '../testing/hash-engine.ts'
import { ChunkSize } from './step-cost.ts'

const HOURS = 5 * 3_600_000
const SIZES = { msPerStep: 10, msPerRow: 1, tokens: 64, contextLength: 4000 }
/** What a step does to the clock. */
const STEPS: readonly ((ms: number) => number)[] = [
  (ms) => ms + 12,
  (ms) => ms,
  (ms) => ms + HOURS,
  (ms) => ms - HOURS,
  () => Number.NaN,
  () => Number.POSITIVE_INFINITY,
  () => Number.NEGATIVE_INFINITY,
  () => 0,
]

test('replies are the same and timings are finite, whatever the clock does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.nat(STEPS.length - 1)), async (steps) => {
      const { scheduler, pool, clock, sequenceOf } = engineOf(SIZES)
      pool.onRun = () => {
        clock.ms = STEPS[steps.next().value]!(clock.ms)
      }
      const prompts = [promptOf(200, 1), promptOf(9, 2), promptOf(90, 3)]
      const texts: number[][] = prompts.map(() => [])
      const outcomes = await Promise.all(
        prompts.map((prompt, index) =>
          scheduler.generate({
            sequence: sequenceOf(prompt),
            sampler: greedy,
            maxTokens: 12,
            priority: index === 2 ? 'background' : 'foreground',
            onToken: (id) => void texts[index]!.push(id),
          }),
        ),
      )
      expect(texts).toEqual(prompts.map((prompt) => expected(prompt, 12)))
      for (const { timings } of outcomes) {
        for (const value of Object.values(timings)) expect(Number.isFinite(value) && value >= 0).toBe(true)
      }
    }),
    { numRuns: 60 },
  )
})

test.each([
  ['ahead', HOURS],
  ['back', -HOURS],
])('a clock that jumps %s once does not hold up a background prompt', async (_, jump) => {
  const { scheduler, pool, clock, sequenceOf } = engineOf(SIZES)
  let steps = 0
  pool.onRun = (rows) => {
    clock.ms += SIZES.msPerStep + rows * SIZES.msPerRow + (steps++ === 1 ? jump : 0)
  }
  const stop = new AbortController()
  const chat = scheduler.generate({
    sequence: sequenceOf(promptOf(80)),
    sampler: greedy,
    signal: stop.signal,
  })
  await scheduler.generate({
    sequence: sequenceOf(promptOf(300, 5)),
    sampler: greedy,
    maxTokens: 1,
    priority: 'background',
  })
  stop.abort()
  await expect(chat).rejects.toThrow()
  expect(steps).toBeLessThan(2000)
})

test('chunk sizes recover from a clock jump within a few steps', () => {
  const chunk = new ChunkSize(256)
  const steps = (count: number) => {
    for (let step = 0; step < count; step++) chunk.observe(chunk.rows, chunk.rows)
  }
  steps(10)
  const usual = chunk.rows
  for (const ms of [HOURS, 0, -HOURS, Number.NaN, Number.POSITIVE_INFINITY]) {
    chunk.observe(chunk.rows, ms)
    expect(chunk.rows).toBeGreaterThanOrEqual(8)
    steps(4)
    expect(chunk.rows).toBe(usual)
  }
})
