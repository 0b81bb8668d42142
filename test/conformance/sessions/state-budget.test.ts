// A budget for state. In: a random model and a small budget. Out: whether errors come before anything is
// lost, and texts are the same as with ample memory.
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { GOLDEN_CASES, type GoldenCase, goldenFile } from '../testing/golden.ts'
import { openEngine } from '../testing/node-engine.ts'

const [F32] = GOLDEN_CASES as [GoldenCase]
const PLAIN = { temperature: 0, maxTokens: 24, speculation: 'off' } as const
const LONG = 'the river goes to the sea and the sea goes to the hello world '

async function failureOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await work
  } catch (error) {
    if (isHalfbyteError(error)) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test('a request that does not fit fails alone and leaves every conversation unchanged', async () => {
  const files = [await goldenFile(F32)]
  await using plenty = await openEngine(files)
  const one = plenty.createSession()
  await one.send(LONG, PLAIN).result
  const block = (await plenty.memory()).stateBytes / 2
  const next = (await one.send('and then', PLAIN).result).tokens

  // Three blocks: two for one conversation, and one, which is too few for another.
  await using engine = await openEngine(files, { stateBytes: 3 * block })
  const first = engine.createSession()
  await first.send(LONG, PLAIN).result
  expect((await engine.memory()).stateBytes).toBe(2 * block)
  const file = await first.save()
  const second = engine.createSession()
  const refused = await failureOf(second.send(`why ${LONG}`.repeat(2), PLAIN).result)
  expect(refused).toMatchObject({ code: 'out-of-memory' })
  expect(refused.message).toMatch(/needs \d+ bytes but only \d+ are allowed; .*raise stateBytes/)
  expect(second.messages).toEqual([])
  expect((await engine.memory()).stateBytes).toBe(2 * block)
  // In the middle of a reply, earlier state stays.
  const cut = await failureOf(first.send('and then', { ...PLAIN, maxTokens: 200 }).result)
  expect(cut.code).toBe('out-of-memory')
  expect(first.messages).toHaveLength(2)
  const again = await first.send('and then', PLAIN).result
  expect(again.tokens).toEqual(next)
  expect(again.usage.cachedTokens).toBeGreaterThan(80)
  await using small = await openEngine(files, { stateBytes: block })
  expect((await failureOf(small.restoreSession(file))).code).toBe('out-of-memory')
  expect((await small.memory()).stateBytes).toBe(0)
  // The cached state of a closed conversation is evicted for the next one.
  await first.dispose()
  expect((await engine.memory()).keptBytes).toBeGreaterThan(0)
  expect((await second.send(`why ${LONG}`.repeat(2), PLAIN).result).tokens).toHaveLength(24)
})

test('a budget below one block is rejected at load', async () => {
  const refused = await failureOf(openEngine([await goldenFile(F32)], { stateBytes: 1000 }))
  expect(refused).toMatchObject({ code: 'out-of-memory' })
  expect(refused.message).toMatch(/stateBytes is 1000 but 64 tokens of state need \d+/)
  const wrong = openEngine([await goldenFile(F32)], { stateBytes: 0.5 })
  expect((await failureOf(wrong)).code).toBe('unsupported')
})
