// Tests draft models. In: two hash models, similar or not. Out: the large model's text, in fewer of its steps
// if they are similar.
import { expect, test } from 'vitest'
import type { Ptr } from '../../runtime/memory/arena.ts'
import { engineOf, expected, greedy, promptOf, type Sizes, VOCAB } from '../testing/hash-engine.ts'
import { DraftModel } from './draft-model.ts'

const LARGE: Sizes = { msPerStep: 50, msPerRow: 1, tokens: 64, logitRows: 16, sequences: 8 }
const SMALL: Sizes = { msPerStep: 3, msPerRow: 0.1, tokens: 64, logitRows: 2, sequences: 2 }

/** A large and a small engine on one clock; `slabs` makes the small one a different model. */
function pairOf({
  slabs = 0,
  vocab = VOCAB,
  small = {},
}: {
  slabs?: number
  vocab?: number
  small?: Sizes
} = {}) {
  const large = engineOf(LARGE)
  const draft = engineOf({ ...SMALL, slabs, ...small })
  const { msPerStep = 3, msPerRow = 0.1 } = small
  draft.pool.onRun = (rows) => {
    large.clock.ms += msPerStep + rows * msPerRow
  }
  const { arena, plan, step, pool, activations } = draft
  const written = { records: 0 as Ptr, count: 0, activations }
  const model = new DraftModel({ pool, arena, plan, written, step, now: () => large.clock.ms, vocab })
  return { large, draft, model }
}

async function generate(pair: ReturnType<typeof pairOf>, length: number, count: number) {
  const { large, draft, model } = pair
  const sequence = large.sequenceOf(promptOf(length))
  const drafts = draft.sequenceOf(promptOf(length))
  const { timings } = await large.scheduler.generate({
    sequence,
    sampler: greedy,
    maxTokens: count,
    drafters: [model.drafter(drafts)],
  })
  expect(sequence.tokens.slice(length)).toEqual(expected(promptOf(length), count))
  return { sequence, drafts, timings }
}

test('a draft model that is right saves most steps of the large one', async () => {
  const pair = pairOf()
  const { timings } = await generate(pair, 30, 80)
  expect(timings.acceptedTokens).toBe(timings.draftedTokens)
  expect(pair.large.pool.steps.length).toBeLessThan(25)
})

test('a draft model that is wrong is rarely used, and changes nothing', async () => {
  const pair = pairOf({ slabs: 1 })
  const { timings } = await generate(pair, 30, 200)
  expect(timings.draftedTokens).toBeLessThan(20)
  expect(pair.large.clock.ms).toBeLessThan((50 + 30 + 199 * 51) * 1.05)
})

test('a draft model that is too slow to pay off does not read the prompt', async () => {
  const pair = pairOf({ small: { msPerStep: 0, msPerRow: 40 } })
  const { large, draft } = pair
  await generate(pair, 400, 100)
  const rows = draft.pool.steps.reduce((sum, count) => sum + count, 0)
  expect(rows).toBeLessThan(60)
  expect(large.pool.steps.length).toBeGreaterThan(90)
})

test('the draft model reads a long prompt in chunks, while tokens keep coming', async () => {
  const pair = pairOf()
  const { large, draft } = pair
  const gaps: number[] = []
  let last = 0
  const run = large.pool.onRun
  large.pool.onRun = (rows) => {
    run(rows)
    gaps.push(large.clock.ms - last)
    last = large.clock.ms
  }
  await generate(pair, 400, 40)
  expect(draft.pool.steps[0]).toBeLessThan(400)
  expect(Math.max(...gaps)).toBeLessThan(50 + 64 + 60)
  expect(large.pool.steps.length).toBeLessThan(8 + 40)
})

test('a second turn continues from the draft model’s state', async () => {
  const pair = pairOf()
  const { sequence, drafts } = await generate(pair, 100, 30)
  const next = [...sequence.tokens, 1, 2, 3]
  sequence.setTokens(next)
  expect(drafts.setTokens(next)).toBeGreaterThan(100)
  pair.draft.pool.steps.length = 0
  const drafter = pair.model.drafter(drafts)
  await pair.large.scheduler.generate({ sequence, sampler: greedy, maxTokens: 20, drafters: [drafter] })
  expect(sequence.tokens.slice(next.length)).toEqual(expected(next, 20))
  expect(Math.max(...pair.draft.pool.steps)).toBeLessThan(20)
  drafts.release()
  expect(pair.draft.cache.liveBytes).toBe(0)
})

test.each([
  ['no room for its state', { small: { budgetBytes: 256 + 320 } }, 20],
  ['a shorter context', { small: { contextLength: 60 } }, 20],
  ['a smaller vocabulary', { vocab: 10 }, 20],
])('with %s it drafts what it can', async (_, options, length) => {
  await generate(pairOf(options), length, 100)
})
