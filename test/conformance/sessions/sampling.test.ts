// Sampled text in Node. In: the small Llama, seeds, every kind of chain. Out: the same ids on every build
// and thread count.
import { expect, test } from 'vitest'
import type { GenerateOptions } from '../../../src/index.ts'
import { BUILDS } from '../testing/builds.ts'
import { CHAIN_PROMPT, CHAINS, drawChains } from '../testing/chains.ts'
import { TINY_PATH } from '../testing/golden.ts'
import { openEngine, repositoryFile } from '../testing/node-engine.ts'

const tiny = [repositoryFile(TINY_PATH)]

test('a seed gives the same ids on every build and thread count, and different ids for each chain', async () => {
  const replies = []
  for (const options of BUILDS) {
    await using engine = await openEngine(tiny, options)
    replies.push(await drawChains(engine))
  }
  for (const reply of replies) expect(reply).toEqual(replies[0])
  const texts = Object.values(replies[0]!).map((reply) => JSON.stringify(reply))
  expect(new Set(texts).size).toBe(Object.keys(CHAINS).length)
})

/** Length of the longest run of tokens that occurs twice. */
function longestRepeat(tokens: readonly number[]): number {
  let longest = 0
  for (let a = 1; a < tokens.length; a++) {
    for (let b = 0; b < a; b++) {
      let length = 0
      while (a + length < tokens.length && tokens[a + length] === tokens[b + length]) length++
      longest = Math.max(longest, length)
    }
  }
  return longest
}

/** Turns off the penalty that the model's file recommends. */
const GREEDY = { temperature: 0, repeatPenalty: 1 } as const

test('DRY keeps greedy text from repeating itself', async () => {
  await using engine = await openEngine(tiny, BUILDS[0]!)
  const repeat = async (options: GenerateOptions) => {
    const { tokens } = await engine.complete(CHAIN_PROMPT, { ...GREEDY, maxTokens: 300, ...options }).result
    return longestRepeat(tokens)
  }
  const plain = await repeat({})
  const dry = await repeat({ dryMultiplier: 2, drySequenceBreakers: [] })
  expect(plain).toBeGreaterThan(100)
  expect(dry).toBeLessThan(8)
})

test('greedy tokens have the largest log-probabilities', async () => {
  await using engine = await openEngine(tiny, BUILDS[0]!)
  const { logprobs } = await engine.complete(CHAIN_PROMPT, { ...GREEDY, maxTokens: 20, logprobs: 5 }).result
  expect(logprobs).toHaveLength(20)
  for (const { id, logprob, top } of logprobs!) {
    expect(top[0]).toMatchObject({ id, logprob })
    expect(top.map((one) => one.logprob)).toEqual(top.map((one) => one.logprob).toSorted((a, b) => b - a))
    expect(top.reduce((sum, one) => sum + Math.exp(one.logprob), 0)).toBeLessThanOrEqual(1 + 1e-6)
  }
})
