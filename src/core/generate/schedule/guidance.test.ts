// Tests guidance. In: a prompt and a negative prompt on a hash model. Out: both rows in one step, whatever
// their lengths.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  argmax,
  codeOf,
  engineOf,
  expected,
  GROUPS,
  greedy,
  promptOf,
  VOCAB,
} from '../testing/hash-engine.ts'
import { hashLogits } from '../testing/hash-pool.ts'

const SCALE = 1.7
const combined = (own: ArrayLike<number>, guide: ArrayLike<number>): Float32Array =>
  Float32Array.from({ length: own.length }, (_, id) => guide[id]! + SCALE * (own[id]! - guide[id]!))

/** Classifier-free guidance in its simplest form. */
const guided = {
  sample(logits: Float32Array, _history: ArrayLike<number>, _length?: number, guide?: Float32Array): number {
    if (guide === undefined) throw new Error('there is no guide')
    return argmax(combined(logits, guide))
  },
}

/** The expected result, computed from the tokens alone. */
function expectedGuided(prompt: readonly number[], negative: readonly number[], count: number): number[] {
  const said: number[] = []
  const rowOf = (before: readonly number[]) =>
    Float32Array.from(hashLogits([...before, ...said], GROUPS, VOCAB))
  while (said.length < count) said.push(argmax(combined(rowOf(prompt), rowOf(negative))))
  return said
}

test('pairs of any lengths match the formula, in steps of any size and next to others', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({ own: fc.integer({ min: 1, max: 150 }), guide: fc.integer({ min: 1, max: 150 }) }),
        {
          minLength: 1,
          maxLength: 3,
        },
      ),
      fc.record({
        tokens: fc.integer({ min: 2, max: 80 }),
        logitRows: fc.integer({ min: 2, max: 5 }),
        sequences: fc.integer({ min: 2, max: 5 }),
      }),
      async (pairs, sizes) => {
        const { scheduler, cache, sequenceOf } = engineOf(sizes)
        const plain = sequenceOf(promptOf(30, 9))
        const runs = pairs.map(({ own, guide }, salt) => {
          const prompt = promptOf(own, salt)
          const negative = promptOf(guide, salt + 50)
          return { prompt, negative, sequence: sequenceOf(prompt), guide: sequenceOf(negative) }
        })
        await Promise.all([
          scheduler.generate({ sequence: plain, sampler: greedy, maxTokens: 9 }),
          ...runs.map(({ sequence, guide }) =>
            scheduler.generate({ sequence, guide, sampler: guided, maxTokens: 7 }),
          ),
        ])
        expect(plain.tokens.slice(30)).toEqual(expected(promptOf(30, 9), 9))
        for (const { prompt, negative, sequence, guide } of runs) {
          const said = sequence.tokens.slice(prompt.length)
          expect(said).toEqual(expectedGuided(prompt, negative, 7))
          expect(guide.tokens.slice(negative.length)).toEqual(said)
          sequence.release()
          guide.release()
        }
        plain.release()
        expect(cache.liveBytes).toBe(0)
      },
    ),
    { numRuns: 30 },
  )
})

test('both prompts are one piece of work: one step per token, and no row without its counterpart', async () => {
  const { scheduler, pool, sequenceOf } = engineOf({ tokens: 64 })
  const sequence = sequenceOf(promptOf(200))
  const guide = sequenceOf(promptOf(10, 4))
  const { timings } = await scheduler.generate({ sequence, guide, sampler: guided, maxTokens: 20 })
  expect(timings).toMatchObject({ promptTokens: 200, generatedTokens: 20 })
  expect(pool.steps.slice(-19)).toEqual(Array.from({ length: 19 }, () => 2))
  expect(pool.steps.reduce((sum, rows) => sum + rows)).toBe(200 + 10 + 19 * 2)
})

test('the text ends when either of the two runs out of space', async () => {
  const { scheduler, sequenceOf } = engineOf({ contextLength: 60 })
  const sequence = sequenceOf(promptOf(10))
  const guide = sequenceOf(promptOf(50))
  const { reason, timings } = await scheduler.generate({ sequence, guide, sampler: guided })
  expect({ reason, generated: timings.generatedTokens }).toEqual({ reason: 'length', generated: 10 })
  expect(sequence.tokens.slice(10)).toEqual(expectedGuided(promptOf(10), promptOf(50), 10))
})

test('an abort releases both, and a failing pair fails alone', async () => {
  const { scheduler, cache, sequenceOf } = engineOf()
  const stop = new AbortController()
  const sequence = sequenceOf(promptOf(20))
  const guide = sequenceOf(promptOf(30))
  const other = sequenceOf(promptOf(5))
  const runs = [
    codeOf(
      scheduler.generate({
        sequence,
        guide,
        sampler: guided,
        signal: stop.signal,
        onToken: () => void stop.abort('enough'),
      }),
    ),
    codeOf(scheduler.generate({ sequence: sequenceOf(promptOf(5)), sampler: guided })),
    codeOf(scheduler.generate({ sequence: other, sampler: greedy, maxTokens: 12 })),
  ]
  expect(await Promise.all(runs)).toEqual(['enough', 'Error: there is no guide', 'none'])
  expect(other.tokens.slice(5)).toEqual(expected(promptOf(5), 12))
  expect([sequence.busy, guide.busy]).toEqual([false, false])
  sequence.release()
  guide.release()
  expect(cache.pools.map(({ live }) => live)).toEqual(Array.from({ length: GROUPS }, () => 2))
})

test('a step without space for two rows rejects a pair', async () => {
  const { scheduler, sequenceOf } = engineOf({ tokens: 1 })
  const request = { sequence: sequenceOf([1]), guide: sequenceOf([2]), sampler: guided }
  expect(await codeOf(scheduler.generate(request))).toBe('internal')
})
