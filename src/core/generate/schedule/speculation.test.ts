// Tests speculation. In: drafters of any skill on a hash model with a fake clock. Out: the same text, in
// fewer steps.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codeOf, engineOf, expected, greedy, promptOf, type Sizes, VOCAB } from '../testing/hash-engine.ts'
import { type Drafter, GRADES, Speculation } from './speculation.ts'
import { StepCost } from './step-cost.ts'

/** Rows are cheap compared with a step, as if weights had to be read from memory. */
const MEMORY_BOUND: Sizes = { msPerStep: 10, msPerRow: 0.5, logitRows: 16, tokens: 64 }

/** Knows the text, and drafts correctly where `isRight` says so, otherwise wrongly. */
function prophet(
  text: readonly number[],
  promptLength: number,
  isRight: (position: number) => boolean,
): Drafter {
  let length = 0
  return {
    msPerDraft: 0,
    gradeAt: () => 0,
    look(tokens) {
      length = tokens.length - promptLength
      return 15
    },
    draft(count, out) {
      for (let index = 0; index < count; index++) {
        const id = text[length + index] ?? 0
        out[index] = isRight(length + index) ? id : (id + 1) % VOCAB
      }
      return count
    },
  }
}

async function speculate(sizes: Sizes, isRight: (position: number) => boolean, count = 100) {
  const engine = engineOf(sizes)
  const sequence = engine.sequenceOf(promptOf(20))
  const drafter = prophet(expected(promptOf(20), count), 20, isRight)
  const { timings } = await engine.scheduler.generate({
    sequence,
    sampler: greedy,
    maxTokens: count,
    drafters: [drafter],
  })
  return { ...engine, sequence, timings }
}

test('no drafter, whatever its accuracy, changes a token, neither alone nor with others', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          skill: fc.integer({ min: 0, max: 10 }),
          count: fc.integer({ min: 1, max: 60 }),
          length: fc.integer({ min: 1, max: 130 }),
          guided: fc.boolean(),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      fc.record({
        tokens: fc.integer({ min: 2, max: 80 }),
        logitRows: fc.integer({ min: 2, max: 12 }),
        sequences: fc.integer({ min: 2, max: 4 }),
      }),
      async (requests, sizes) => {
        const { scheduler, cache, sequenceOf } = engineOf({ ...MEMORY_BOUND, ...sizes })
        const runs = requests.map(({ skill, count, length, guided }, salt) => {
          const text = expected(promptOf(length, salt), count)
          const drafter = prophet(text, length, (position) => (position * 7 + salt) % 10 < skill)
          const guide = guided ? sequenceOf(promptOf(33, salt)) : undefined
          return { text, drafter, guide, sequence: sequenceOf(promptOf(length, salt)), maxTokens: count }
        })
        await Promise.all(
          runs.map((run) => scheduler.generate({ ...run, drafters: [run.drafter], sampler: greedy })),
        )
        for (const { text, sequence, guide } of runs) {
          const start = sequence.tokens.length - text.length
          expect(sequence.tokens.slice(start)).toEqual(text)
          expect(sequence.cached).toBe(sequence.tokens.length - 1)
          // The remaining state belongs to the tokens, which continue as if nothing had been drafted.
          await scheduler.generate({ sequence, sampler: greedy, maxTokens: 3 })
          expect(sequence.tokens.slice(start)).toEqual(
            expected(sequence.tokens.slice(0, start), text.length + 3),
          )
          if (guide !== undefined) expect(guide.cached).toBe(guide.tokens.length - 1)
          sequence.release()
          guide?.release()
        }
        expect(cache.liveBytes).toBe(0)
      },
    ),
    { numRuns: 40 },
  )
})

test('right drafts save steps, and drafting stops if they are wrong', async () => {
  const none = await speculate({ ...MEMORY_BOUND }, () => false)
  const all = await speculate({ ...MEMORY_BOUND }, () => true)
  const plain = 10 + 20 * 0.5 + 99 * 10.5
  expect(all.pool.steps.length).toBeLessThan(20)
  expect(all.clock.ms).toBeLessThan(plain / 5)
  expect(all.timings).toMatchObject({ generatedTokens: 100 })
  expect(all.timings.acceptedTokens).toBe(all.timings.draftedTokens)
  expect(all.timings.acceptedTokens).toBe(100 - all.pool.steps.length)
  expect(none.pool.steps.length).toBe(100)
  expect(none.clock.ms).toBeLessThan(plain * 1.02)
  expect(none.timings.acceptedTokens).toBe(0)
})

test('if a row costs as much as a step, drafting soon stops', async () => {
  const { clock, timings } = await speculate(
    { ...MEMORY_BOUND, msPerStep: 0, msPerRow: 10 },
    (position) => position % 2 === 0,
  )
  expect(clock.ms).toBeLessThan((20 + 99) * 10 * 1.02)
  expect(timings.draftedTokens).toBeLessThan(5)
})

test('drafts that become right are noticed even while they are not tried', async () => {
  const { pool } = await speculate(MEMORY_BOUND, (position) => position > 50, 150)
  expect(pool.steps.length).toBeLessThan(51 + 30)
})

test('nothing is drafted beyond the requested tokens or the context', async () => {
  const { pool, timings } = await speculate(MEMORY_BOUND, () => true, 12)
  expect(timings.draftedTokens).toBe(12 - pool.steps.length)
  const full = await speculate({ ...MEMORY_BOUND, contextLength: 60 }, () => true)
  expect(full.timings.generatedTokens).toBe(40)
  expect(full.sequence.tokens.length).toBe(60)
})

test('a stop token ends the text even in the middle of correct drafts', async () => {
  const { scheduler, sequenceOf } = engineOf(MEMORY_BOUND)
  const text = expected(promptOf(9), 60)
  const stop = text.find((id, index) => index > 30 && text.indexOf(id) === index)!
  const sequence = sequenceOf(promptOf(9))
  const picked: number[] = []
  const { reason } = await scheduler.generate({
    sequence,
    sampler: greedy,
    drafters: [prophet(text, 9, () => true)],
    stopTokens: new Set([stop]),
    onToken: (id) => void picked.push(id),
  })
  expect(reason).toBe('stop')
  expect(picked).toEqual(text.slice(0, text.indexOf(stop)))
  expect(sequence.cached).toBe(sequence.tokens.length - 1)
})

test('a reader that is not ready gets no more tokens, whatever was drafted', async () => {
  const { scheduler, sequenceOf } = engineOf(MEMORY_BOUND)
  const text = expected(promptOf(9), 40)
  const sequence = sequenceOf(promptOf(9))
  const opens: (() => void)[] = []
  const picked: number[] = []
  const run = scheduler.generate({
    sequence,
    sampler: greedy,
    maxTokens: 40,
    drafters: [prophet(text, 9, () => true)],
    onToken: (id) => {
      picked.push(id)
      return picked.length % 7 === 0 ? new Promise<void>((resolve) => void opens.push(resolve)) : undefined
    },
  })
  for (let taken = 7; taken < 40; taken += 7) {
    while (opens.length === 0) await new Promise((resolve) => setImmediate(resolve))
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(picked.length).toBe(taken)
    opens.pop()?.()
  }
  await run
  expect(picked).toEqual(text)
})

test('a sampler that throws in the middle of drafts leaves the state of the picked tokens', async () => {
  const { scheduler, sequenceOf } = engineOf(MEMORY_BOUND)
  const text = expected(promptOf(9), 60)
  const sequence = sequenceOf(promptOf(9))
  let calls = 0
  const sampler = {
    sample(logits: Float32Array): number {
      if (++calls === 30) throw new Error('enough')
      return greedy.sample(logits)
    },
  }
  const drafter = prophet(text, 9, () => true)
  expect(await codeOf(scheduler.generate({ sequence, sampler, drafters: [drafter] }))).toBe('Error: enough')
  expect(sequence.tokens.slice(9)).toEqual(text.slice(0, 29))
  await scheduler.generate({ sequence, sampler: greedy, maxTokens: 5, drafters: [drafter] })
  expect(sequence.tokens.slice(9)).toEqual(text.slice(0, 34))
})

describe('recurrent state', () => {
  const RECURRENT: Sizes = { ...MEMORY_BOUND, slabs: 2 }
  const text = expected(promptOf(20), 120, 2)

  test.each([0, 3, 5, 8, 10])('rolls back wrong drafts: %i of 10 are right', async (skill) => {
    const { scheduler, cache, pool, sequenceOf } = engineOf({ ...RECURRENT, checkpointBytes: 4 * 128 })
    const sequence = sequenceOf(promptOf(20))
    const drafter = prophet(text, 20, (position) => (position * 7) % 10 < skill)
    const { timings } = await scheduler.generate({
      sequence,
      sampler: greedy,
      drafters: [drafter],
      maxTokens: 100,
    })
    expect(sequence.tokens.slice(20)).toEqual(text.slice(0, 100))
    if (skill >= 8) expect(pool.steps.length).toBeLessThan(60)
    // The next turn finds its state, and no checkpoint of a draft is left behind.
    await scheduler.generate({ sequence, sampler: greedy, maxTokens: 20 })
    expect(sequence.tokens.slice(20)).toEqual(text)
    expect(cache.checkpoints.count).toBe(0)
    expect(timings.generatedTokens).toBe(100)
  })

  test('is not put at risk if no checkpoint fits', async () => {
    const { scheduler, pool, sequenceOf } = engineOf({ ...RECURRENT, checkpointBytes: 100 })
    const sequence = sequenceOf(promptOf(20))
    const drafter = prophet(text, 20, () => true)
    await scheduler.generate({ sequence, sampler: greedy, drafters: [drafter], maxTokens: 50 })
    expect(sequence.tokens.slice(20)).toEqual(text.slice(0, 50))
    expect(pool.steps.length).toBe(50)
  })
})

test('if there is no memory for drafts, the text continues without them', async () => {
  const { scheduler, sequenceOf } = engineOf({ ...MEMORY_BOUND, budgetBytes: 256 + 320 })
  const sequence = sequenceOf(promptOf(20))
  const text = expected(promptOf(20), 45)
  const drafter = prophet([...text, 1, 2, 3], 20, () => true)
  const run = scheduler.generate({ sequence, sampler: greedy, drafters: [drafter] })
  expect(await codeOf(run)).toBe('out-of-memory')
  // The block is full to its last position.
  expect(sequence.tokens.slice(20)).toEqual(text)
})

describe('the drafts of one generation', () => {
  const cost = new StepCost()
  cost.observe(1, 10)
  const drafter = (msPerDraft: number): Drafter => ({
    msPerDraft,
    gradeAt: () => 0,
    look: () => 15,
    draft(count, out) {
      out.fill(5, 0, count)
      return count
    },
  })
  const step = { rows: 1, tokens: 1 }

  test('are those of the drafter that promises most', () => {
    const other = (grade: number, id: number): Drafter => ({
      ...drafter(0),
      gradeAt: () => grade,
      draft(count, out) {
        out.fill(id, 0, count)
        return count
      },
    })
    const sure = GRADES.lookup + 5
    const drafters = [other(GRADES.expected, 7), other(sure, 8), other(GRADES.resumed, 9)]
    const speculation = new Speculation(drafters, undefined)
    expect(speculation.draft([1, 2, 3], 15, 1, step, cost)).toBeGreaterThan(1)
    expect(speculation.ids[0]).toBe(8)
    for (let round = 0; round < 40; round++) {
      const drafted = speculation.draft([1, 2, 3], 15, 1, step, cost)
      speculation.observe([1, 2, 3, 7], 1, drafted)
    }
    speculation.draft([1, 2, 3], 15, 1, step, cost)
    expect(speculation.ids[0]).toBe(7)
  })

  test('that cost time are not made where free ones do as well', () => {
    const free: Drafter = { ...drafter(0), gradeAt: () => GRADES.lookup + 5 }
    let made = 0
    const costly: Drafter = {
      ...drafter(1),
      gradeAt: () => GRADES.model,
      draft(count, out) {
        made++
        out.fill(6, 0, count)
        return count
      },
    }
    const speculation = new Speculation([free, costly], undefined)
    for (let round = 0; round < 100; round++) {
      const drafted = speculation.draft([1, 2, 3], 15, 1, step, cost)
      speculation.observe([1, 2, 3, 5], 1, drafted)
    }
    expect(made).toBe(0)
  })

  test('stop at the first that would end the text', () => {
    const wanted = (stopTokens: ReadonlySet<number>) =>
      new Speculation([drafter(0)], stopTokens).draft([1, 2, 3], 15, 1, step, cost)
    expect(wanted(new Set([6]))).toBeGreaterThan(1)
    expect(wanted(new Set([5]))).toBe(1)
  })

  test('that never pay off are tried less and less often, until one is right', () => {
    const speculation = new Speculation([drafter(1000)], undefined)
    /** Tokens until the next draft, which succeeds or fails as specified. */
    const gap = (isRight: boolean): number => {
      for (let tokens = 1; ; tokens++) {
        const drafted = speculation.draft([1, 2, 3], 15, 1, step, cost)
        speculation.observe([1, 2, 3, drafted > 0 && isRight ? 5 : 9], 1, drafted)
        if (drafted > 0) return tokens
      }
    }
    expect([false, false, false, true, false, false].map(gap)).toEqual([4, 8, 16, 32, 4, 8])
  })
})
