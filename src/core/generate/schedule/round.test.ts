// Tests rounds. In: chats, long prompts and background work on a hash model with a fake clock. Out: who
// waits, and for how long.
import { expect, test } from 'vitest'
import { engineOf, expected, greedy, promptOf, type Sizes } from '../testing/hash-engine.ts'
import type { Drafter } from './speculation.ts'
import { CHUNK_MS } from './step-cost.ts'

/** A step takes 10 ms plus 1 ms per row, like a small model on two cores. */
const PHONE: Sizes = {
  msPerStep: 10,
  msPerRow: 1,
  tokens: 256,
  contextLength: 6000,
  sequences: 32,
  logitRows: 32,
}

test('decoding is never delayed by more than one chunk, however many prompts wait', async () => {
  const { scheduler, clock, sequenceOf } = engineOf(PHONE)
  const times: number[] = []
  const prompt = promptOf(4, 1)
  const chat = scheduler.generate({
    sequence: sequenceOf(prompt),
    sampler: greedy,
    maxTokens: 60,
    onToken: () => void times.push(clock.ms),
  })
  const prompts = [1500, 700, 2500].map((length, salt) =>
    scheduler.generate({ sequence: sequenceOf(promptOf(length, salt)), sampler: greedy, maxTokens: 5 }),
  )
  await Promise.all([chat, ...prompts])
  const gaps = times.slice(1).map((time, index) => time - times[index]!)
  expect(Math.max(...gaps)).toBeLessThanOrEqual(CHUNK_MS)
  // The rounds were not idle either: they processed 4700 prompt rows.
  expect(Math.max(...gaps)).toBeGreaterThan(CHUNK_MS / 2)
})

test('the more sequences decode, the fewer rows are left for prompts, but never none', async () => {
  const { scheduler, clock, pool, sequenceOf } = engineOf({ ...PHONE, msPerStep: 0, msPerRow: 4 })
  const times: number[] = []
  const stop = new AbortController()
  const chats = Array.from({ length: 30 }, (_, salt) =>
    scheduler.generate({
      sequence: sequenceOf(promptOf(2, salt)),
      sampler: greedy,
      signal: stop.signal,
      ...(salt === 0 ? { onToken: () => void times.push(clock.ms) } : {}),
    }),
  )
  await scheduler.generate({ sequence: sequenceOf(promptOf(300, 7)), sampler: greedy, maxTokens: 1 })
  stop.abort()
  await Promise.allSettled(chats)
  const gaps = times.slice(1).map((time, index) => time - times[index]!)
  // 30 decoding rows alone take 120 ms, so prompts only get their guaranteed 8 rows.
  expect(Math.max(...gaps.slice(2))).toBeLessThanOrEqual(38 * 4)
  expect(pool.steps.length).toBeLessThan(60)
})

test('prompts of one priority take turns, and a short one does not wait for a long one', async () => {
  const { scheduler, pool, sequenceOf } = engineOf({ ...PHONE, tokens: 32 })
  const left = sequenceOf(promptOf(1000))
  const right = sequenceOf(promptOf(1000, 1))
  const apart: number[] = []
  pool.onRun = () => void apart.push(Math.abs(left.cached - right.cached))
  const long = [left, right].map((sequence) =>
    scheduler.generate({ sequence, sampler: greedy, maxTokens: 1 }),
  )
  let steps = 0
  const short = scheduler
    .generate({ sequence: sequenceOf(promptOf(20, 2)), sampler: greedy, maxTokens: 1 })
    .then(() => {
      steps = pool.steps.length
    })
  await Promise.all([...long, short])
  expect(Math.max(...apart)).toBeLessThanOrEqual(64)
  expect(steps).toBeLessThanOrEqual(4)
})

/** Milliseconds for 200 tokens of a chat, next to the work started by `start`. */
async function chatMs(start: (engine: ReturnType<typeof engineOf>) => void): Promise<number> {
  const engine = engineOf(PHONE)
  const { scheduler, clock, sequenceOf } = engine
  // The engine has already run a chat, so it has measured the cost of steps.
  await scheduler.generate({ sequence: sequenceOf(promptOf(40, 3)), sampler: greedy, maxTokens: 5 })
  const begun = clock.ms
  const chat = scheduler.generate({ sequence: sequenceOf(promptOf(9)), sampler: greedy, maxTokens: 200 })
  start(engine)
  await chat
  return clock.ms - begun
}

test('a title generated in the background slows the chat by at most a twentieth, and completes', async () => {
  let title: readonly number[] = []
  let chatTokens = 0
  const alone = await chatMs(() => {})
  const beside = await chatMs(({ scheduler, sequenceOf }) => {
    const sequence = sequenceOf(promptOf(60, 5))
    const work = { sequence, sampler: greedy, maxTokens: 6, priority: 'background' } as const
    void scheduler.generate(work).then(() => {
      title = sequence.tokens.slice(60)
      chatTokens = scheduler.pending
    })
  })
  expect(beside / alone).toBeLessThan(1.06)
  expect(title).toEqual(expected(promptOf(60, 5), 6))
  // The title was ready before the chat ended.
  expect(chatTokens).toBe(1)
  const equal = await chatMs(({ scheduler, sequenceOf }) => {
    void scheduler.generate({ sequence: sequenceOf(promptOf(60, 5)), sampler: greedy, maxTokens: 6 })
  })
  expect(equal).toBeGreaterThan(alone + 60)
})

test('endless background work slows the chat by at most a twentieth, and progresses', async () => {
  const stop = new AbortController()
  let rows = 0
  const alone = await chatMs(() => {})
  const beside = await chatMs(({ scheduler, sequenceOf }) => {
    const sequence = sequenceOf(promptOf(3000, 5))
    const work = { sequence, sampler: greedy, priority: 'background', signal: stop.signal } as const
    void scheduler.generate(work).catch(() => {
      rows = sequence.cached
    })
  })
  stop.abort()
  await expect.poll(() => rows).toBeGreaterThan(0.7 * 0.05 * alone)
  expect(beside / alone).toBeLessThan(1.06)
})

test('the time spent on drafting is deducted from the chunk of prompts', async () => {
  const { scheduler, clock, sequenceOf } = engineOf(PHONE)
  // The engine has already run a chat, so it has measured the cost of steps.
  await scheduler.generate({ sequence: sequenceOf(promptOf(40, 3)), sampler: greedy, maxTokens: 5 })
  const prompt = promptOf(4, 1)
  const text = expected(prompt, 80)
  let length = 0
  const drafter: Drafter = {
    msPerDraft: 3,
    gradeAt: () => 0,
    look(tokens) {
      length = tokens.length - prompt.length
      return 15
    },
    draft(count, out) {
      clock.ms += 3 * count
      out.set(text.slice(length, length + count))
      return Math.min(count, text.length - length)
    },
  }
  const times: number[] = []
  const chat = scheduler.generate({
    sequence: sequenceOf(prompt),
    sampler: greedy,
    maxTokens: 80,
    drafters: [drafter],
    onToken: () => void times.push(clock.ms),
  })
  await Promise.all([
    chat,
    scheduler.generate({ sequence: sequenceOf(promptOf(3000, 2)), sampler: greedy, maxTokens: 1 }),
  ])
  const gaps = times.slice(1).map((time, index) => time - times[index]!)
  expect((await chat).timings.acceptedTokens).toBeGreaterThan(20)
  expect(Math.max(...gaps)).toBeLessThanOrEqual(CHUNK_MS)
})

test('background work runs at full speed alone, and alongside a chat whose reader is slow', async () => {
  const run = async (priority: 'foreground' | 'background') => {
    const { scheduler, clock, sequenceOf } = engineOf(PHONE)
    let open: () => void = () => {}
    const waiting = scheduler.generate({
      sequence: sequenceOf(promptOf(3)),
      sampler: greedy,
      maxTokens: 2,
      onToken: () =>
        new Promise<void>((resolve) => {
          open = resolve
        }),
    })
    await scheduler.generate({
      sequence: sequenceOf(promptOf(500)),
      sampler: greedy,
      maxTokens: 50,
      priority,
    })
    const ms = clock.ms
    open()
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    open()
    await waiting
    return ms
  }
  expect(await run('background')).toBeLessThan((await run('foreground')) + 20)
})

test.each([30, 120])('sequences take turns if not all fit in a step: %i tokens', async (most) => {
  const { scheduler, sequenceOf } = engineOf({ ...PHONE, sequences: 3 })
  const stop = new AbortController()
  const counts = Array.from({ length: 8 }, () => 0)
  const runs = counts.map((_, salt) =>
    scheduler.generate({
      sequence: sequenceOf(promptOf(5, salt)),
      sampler: greedy,
      signal: stop.signal,
      onToken: () => {
        if (++counts[salt]! === most) stop.abort()
        return undefined
      },
    }),
  )
  await Promise.allSettled(runs)
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(3)
})

test.each([
  ['a prompt', { tokens: 1, sequences: 1 }, 'foreground'],
  ['a prompt', { logitRows: 1 }, 'foreground'],
  ['background work', { sequences: 2 }, 'background'],
  ['background work', { tokens: 2 }, 'background'],
] as const)('%s progresses even if endless texts fill %o', async (_, sizes, priority) => {
  const { scheduler, sequenceOf } = engineOf({ ...PHONE, ...sizes })
  const stop = new AbortController()
  const endless = [0, 1, 2].map((salt) =>
    scheduler.generate({ sequence: sequenceOf(promptOf(5, salt)), sampler: greedy, signal: stop.signal }),
  )
  const sequence = sequenceOf(promptOf(12, 9))
  const run = scheduler.generate({ sequence, sampler: greedy, maxTokens: 2, priority })
  await run
  expect(scheduler.pending).toBe(3)
  expect(sequence.tokens.slice(12)).toEqual(expected(promptOf(12, 9), 2))
  stop.abort()
  await Promise.allSettled(endless)
})
