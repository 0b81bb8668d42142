// Tests the scheduler. In: many requests on a hash model. Out: the same tokens for each as when it runs
// alone.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diedError } from '../../runtime/pool.ts'
import { codeOf, engineOf, expected, GROUPS, greedy, promptOf, VOCAB } from '../testing/hash-engine.ts'
import { hashLogits } from '../testing/hash-pool.ts'

test.each([1, 7, 64, 200])('steps of at most %i rows give the same tokens', async (tokens) => {
  const { scheduler, sequenceOf } = engineOf({ tokens })
  const sequence = sequenceOf(promptOf(150))
  const picked: number[] = []
  const { reason, timings } = await scheduler.generate({
    sequence,
    sampler: greedy,
    maxTokens: 20,
    onToken: (id) => void picked.push(id),
  })
  expect(picked).toEqual(expected(promptOf(150), 20))
  expect(sequence.tokens).toEqual([...promptOf(150), ...picked])
  expect(sequence.cached).toBe(169)
  expect(reason).toBe('length')
  expect(timings).toMatchObject({ promptTokens: 150, cachedTokens: 0, generatedTokens: 20 })
  expect(timings.prefillMs).toBeCloseTo(15)
  expect(timings.firstTokenMs).toBeCloseTo(15)
  expect(timings.decodeMs).toBeCloseTo(1.9)
})

test('a second turn processes only new tokens', async () => {
  const { scheduler, pool, sequenceOf } = engineOf()
  const sequence = sequenceOf(promptOf(100))
  await scheduler.generate({ sequence, sampler: greedy, maxTokens: 10 })
  const next = [...sequence.tokens, 1, 2, 3]
  pool.steps.length = 0
  expect(sequence.setTokens(next)).toBe(109)
  const { timings } = await scheduler.generate({ sequence, sampler: greedy, maxTokens: 1 })
  expect(pool.steps).toEqual([4])
  expect(timings.cachedTokens).toBe(109)
  expect(sequence.tokens.at(-1)).toBe(expected(next, 1)[0])
})

test('an edited turn keeps the common prefix, and repeating the same tokens processes only the last one', async () => {
  const { scheduler, pool, sequenceOf } = engineOf()
  const sequence = sequenceOf(promptOf(100))
  await scheduler.generate({ sequence, sampler: greedy, maxTokens: 5 })
  const edited = [...promptOf(70), 49, 48]
  expect(sequence.setTokens(edited)).toBe(70)
  await scheduler.generate({ sequence, sampler: greedy, maxTokens: 3 })
  expect(sequence.tokens.slice(72)).toEqual(expected(edited, 3))
  pool.steps.length = 0
  expect(sequence.setTokens(edited)).toBe(71)
  await scheduler.generate({ sequence, sampler: greedy, maxTokens: 3 })
  expect(sequence.tokens.slice(72)).toEqual(expected(edited, 3))
  expect(pool.steps).toEqual([1, 1, 1])
})

test('sequences that share steps, including forks, give the same results as when run alone', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({ length: fc.integer({ min: 1, max: 180 }), count: fc.integer({ min: 1, max: 12 }) }),
        {
          minLength: 1,
          maxLength: 6,
        },
      ),
      fc.record({
        tokens: fc.integer({ min: 1, max: 80 }),
        logitRows: fc.integer({ min: 1, max: 4 }),
        sequences: fc.integer({ min: 1, max: 4 }),
      }),
      async (requests, sizes) => {
        const { scheduler, cache, sequenceOf } = engineOf(sizes)
        const root = sequenceOf(promptOf(90))
        await scheduler.generate({ sequence: root, sampler: greedy, maxTokens: 2 })
        const runs = requests.map(({ length, count }, index) => {
          const prompt =
            index % 2 === 0 ? promptOf(length, index) : [...root.tokens, ...promptOf(length, index)]
          const sequence = index % 2 === 0 ? sequenceOf(prompt) : root.fork()
          sequence.setTokens(prompt)
          return { prompt, count, sequence }
        })
        await Promise.all(
          runs.map(({ sequence, count }) =>
            scheduler.generate({ sequence, sampler: greedy, maxTokens: count }),
          ),
        )
        for (const { prompt, count, sequence } of runs) {
          expect(sequence.tokens.slice(prompt.length)).toEqual(expected(prompt, count))
          sequence.release()
        }
        root.release()
        expect(cache.liveBytes).toBe(0)
      },
    ),
    { numRuns: 25 },
  )
})

test('an abort takes effect within one step, and the sequence can continue as if nothing had happened', async () => {
  const { scheduler, pool, sequenceOf } = engineOf()
  const sequence = sequenceOf(promptOf(10))
  const stop = new AbortController()
  const picked: number[] = []
  const run = scheduler.generate({
    sequence,
    sampler: greedy,
    signal: stop.signal,
    onToken: (id) => {
      picked.push(id)
      if (picked.length === 4) setImmediate(() => stop.abort(new Error('enough')))
      return undefined
    },
  })
  await expect(run).rejects.toThrow('enough')
  expect(picked.length).toBeLessThanOrEqual(5)
  expect(pool.steps.length).toBeLessThanOrEqual(5)
  expect(sequence.busy).toBe(false)
  await scheduler.generate({ sequence, sampler: greedy, maxTokens: 5 })
  expect(sequence.tokens.slice(10)).toEqual(expected(promptOf(10), picked.length + 5))
})

test('an abort during a long prefill stops it between chunks', async () => {
  const { scheduler, pool, sequenceOf } = engineOf({ tokens: 8 })
  const stop = new AbortController()
  const sequence = sequenceOf(promptOf(400))
  const run = scheduler.generate({ sequence, sampler: greedy, signal: stop.signal })
  pool.onRun = () => {
    if (pool.steps.length === 2) stop.abort()
  }
  await expect(run).rejects.toThrow(/abort/i)
  expect(pool.steps).toEqual([8, 8, 8])
  expect(sequence.cached).toBe(24)
})

test('an aborted signal rejects before anything runs', async () => {
  const { scheduler, pool, sequenceOf } = engineOf()
  const request = { sequence: sequenceOf([1]), sampler: greedy, signal: AbortSignal.abort(new Error('no')) }
  await expect(scheduler.generate(request)).rejects.toThrow('no')
  expect(pool.steps).toEqual([])
})

test('an error of one request does not affect the others', async () => {
  const { scheduler, sequenceOf } = engineOf()
  const good = sequenceOf(promptOf(20))
  const bad = sequenceOf(promptOf(30))
  const worse = sequenceOf(promptOf(40))
  const results = await Promise.allSettled([
    scheduler.generate({ sequence: good, sampler: greedy, maxTokens: 10 }),
    scheduler.generate({
      sequence: bad,
      sampler: {
        sample: () => {
          throw new Error('bad sampler')
        },
      },
    }),
    scheduler.generate({
      sequence: worse,
      sampler: greedy,
      onToken: () => Promise.reject(new Error('gone')),
    }),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  expect(good.tokens.slice(20)).toEqual(expected(promptOf(20), 10))
  expect(scheduler.pending).toBe(0)
})

test('a request that finds no room fails alone and leaves its state readable', async () => {
  const { scheduler, cache, sequenceOf } = engineOf({ budgetBytes: 3 * (256 + 320) })
  const small = sequenceOf(promptOf(20))
  const large = sequenceOf(promptOf(100))
  expect(() => sequenceOf(promptOf(400))).toThrow(expect.objectContaining({ code: 'out-of-memory' }))
  const [first, second] = await Promise.all([
    codeOf(scheduler.generate({ sequence: small, sampler: greedy, maxTokens: 30 })),
    codeOf(scheduler.generate({ sequence: large, sampler: greedy, maxTokens: 100 })),
  ])
  expect([first, second]).toEqual(['none', 'out-of-memory'])
  expect(small.tokens.slice(20)).toEqual(expected(promptOf(20), 30))
  const short = promptOf(90)
  expect(large.setTokens(short)).toBeGreaterThan(0)
  await scheduler.generate({ sequence: large, sampler: greedy, maxTokens: 5 })
  expect(large.tokens.slice(90)).toEqual(expected(short, 5))
  small.release()
  large.release()
  expect(cache.liveBytes).toBe(0)
})

test('more tokens than fit in the context are rejected; a full context ends the text', async () => {
  const { scheduler, sequenceOf } = engineOf({ contextLength: 100 })
  const sequence = sequenceOf(promptOf(95))
  expect(() => sequence.setTokens(promptOf(101))).toThrow(/needs 101 tokens but the context has room for 100/)
  expect(sequence.tokens).toEqual(promptOf(95))
  const { reason, timings } = await scheduler.generate({ sequence, sampler: greedy })
  expect(reason).toBe('length')
  expect(timings.generatedTokens).toBe(5)
  expect(sequence.tokens.length).toBe(100)
  expect((await scheduler.generate({ sequence, sampler: greedy })).timings.generatedTokens).toBe(0)
})

test('stop tokens and the consumer end a text', async () => {
  const { scheduler, sequenceOf } = engineOf()
  const text = expected(promptOf(9), 8)
  const stop = text[5]!
  const picked: number[] = []
  const before = text.indexOf(stop)
  const { reason, timings } = await scheduler.generate({
    sequence: sequenceOf(promptOf(9)),
    sampler: greedy,
    stopTokens: new Set([stop]),
    onToken: (id) => void picked.push(id),
  })
  expect(reason).toBe('stop')
  expect(picked).toEqual(text.slice(0, before))
  expect(timings.generatedTokens).toBe(before)
  const second = await scheduler.generate({
    sequence: sequenceOf(promptOf(9)),
    sampler: greedy,
    onToken: () => 'stop',
  })
  expect(second).toMatchObject({ reason: 'stop', timings: { generatedTokens: 1 } })
})

test('a slow consumer delays only its own text, and waiting for it does not count as decoding', async () => {
  const { scheduler, clock, sequenceOf } = engineOf()
  let open: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  let taken = 0
  const slow = scheduler.generate({
    sequence: sequenceOf(promptOf(5)),
    sampler: greedy,
    maxTokens: 3,
    onToken: () => (++taken === 2 ? gate : undefined),
  })
  const fast = await scheduler.generate({ sequence: sequenceOf(promptOf(6)), sampler: greedy, maxTokens: 50 })
  expect(fast.timings.generatedTokens).toBe(50)
  expect(taken).toBe(2)
  clock.ms += 10_000
  open()
  expect((await slow).timings.decodeMs).toBeLessThan(10)
  expect(taken).toBe(3)
})

test('a waiting consumer can still be aborted', async () => {
  const { scheduler, sequenceOf } = engineOf()
  const stop = new AbortController()
  const run = scheduler.generate({
    sequence: sequenceOf(promptOf(5)),
    sampler: greedy,
    signal: stop.signal,
    onToken: () => new Promise(() => {}),
  })
  setTimeout(() => stop.abort(new Error('enough')), 5)
  await expect(run).rejects.toThrow('enough')
})

test.each(['all', 'last'] as const)('forward returns the logits of %s positions', async (logits) => {
  const { scheduler, sequenceOf } = engineOf({ logitRows: 3 })
  const prompt = promptOf(100)
  const seen = new Map<number, number[]>()
  await scheduler.forward({
    sequence: sequenceOf(prompt),
    logits,
    onLogits: (position, row) => void seen.set(position, [...row]),
  })
  expect([...seen.keys()]).toEqual(logits === 'all' ? prompt.map((_, position) => position) : [99])
  for (const [position, row] of seen) {
    expect(row).toEqual(hashLogits(prompt.slice(0, position + 1), GROUPS, VOCAB))
  }
})

test('prefill converges to the largest steps below 100 ms', async () => {
  const { scheduler, pool, sequenceOf } = engineOf({ tokens: 256, contextLength: 4000, msPerRow: 1 })
  await scheduler.generate({ sequence: sequenceOf(promptOf(2000)), sampler: greedy, maxTokens: 1 })
  expect(Math.max(...pool.steps)).toBeLessThanOrEqual(100)
  expect(pool.steps.length).toBeLessThan(2000 / 70)
})

test('a decoding sequence gets a token in every step of a long prefill', async () => {
  const { scheduler, pool, sequenceOf } = engineOf({ tokens: 32 })
  const prompt = promptOf(4, 1)
  const decoding = sequenceOf(prompt)
  const steps: number[] = []
  await Promise.all([
    scheduler.generate({
      sequence: decoding,
      sampler: greedy,
      maxTokens: 10,
      onToken: () => void steps.push(pool.steps.length),
    }),
    scheduler.generate({ sequence: sequenceOf(promptOf(400)), sampler: greedy, maxTokens: 1 }),
  ])
  expect(steps).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect(decoding.tokens.slice(4)).toEqual(expected(prompt, 10))
})

test('a pool that dies rejects everything pending, and later requests get an error saying that it has ended', async () => {
  const { scheduler, pool, sequenceOf } = engineOf()
  pool.onRun = () => {
    if (pool.steps.length === 3) throw diedError('unreachable')
  }
  const runs = [promptOf(5), promptOf(6)].map((ids) =>
    codeOf(scheduler.generate({ sequence: sequenceOf(ids), sampler: greedy })),
  )
  expect(await Promise.all(runs)).toEqual(['internal', 'internal'])
  expect(await codeOf(scheduler.generate({ sequence: sequenceOf([1]), sampler: greedy }))).toBe('disposed')
})

test('a token of another model is rejected before it is processed', async () => {
  const { scheduler, pool, sequenceOf } = engineOf()
  for (const wrong of [VOCAB, -1, Number.NaN]) {
    expect(await codeOf(scheduler.generate({ sequence: sequenceOf([1, wrong]), sampler: greedy }))).toBe(
      'format',
    )
  }
  expect(pool.steps).toEqual([])
})

test('a busy sequence rejects other work, changes and its release', async () => {
  const { scheduler, sequenceOf } = engineOf()
  const sequence = sequenceOf(promptOf(5))
  const run = scheduler.generate({ sequence, sampler: greedy, maxTokens: 3 })
  expect(await codeOf(scheduler.generate({ sequence, sampler: greedy }))).toBe('internal')
  expect(() => sequence.setTokens([1])).toThrow(/still running/)
  expect(() => sequence.release()).toThrow(/still running/)
  await run
  sequence.release()
})
