// Sampled text in Node. In: the embedded model, seeds, every kind of chain. Out: the same ids on every build and number of threads.
import { describe, expect, test } from 'vitest'
import type { GenerateOptions } from '../src/index.ts'
import { BUILDS } from './support/builds.ts'
import { EMBEDDED_PATH } from './support/golden.ts'
import { openEngine, repositoryFile } from './support/node-engine.ts'

const PROMPT = 'Once upon a time there was a'
const off: GenerateOptions = { topK: 0, topP: 1, minP: 0, temperature: 1 }

const chains: Record<string, GenerateOptions> = {
  'the defaults': {},
  'all ids, nothing cut': off,
  'cuts without top-k': { ...off, topP: 0.9, minP: 0.01, temperature: 1.3 },
  'tail-free and typical': { ...off, tfsZ: 0.95, typicalP: 0.8 },
  'top-n-sigma and XTC': { ...off, topNSigma: 1, xtcProbability: 0.5 },
  'penalties and DRY': { repeatPenalty: 1.2, frequencyPenalty: 0.1, dryMultiplier: 0.8 },
  'mirostat 1': { mirostat: 1, temperature: 1 },
  'mirostat 2': { mirostat: 2, mirostatEnt: 3 },
}

async function drawAll(options: (typeof BUILDS)[number]) {
  await using engine = await openEngine([repositoryFile(EMBEDDED_PATH)], options)
  const replies: Record<string, unknown> = {}
  for (const [name, chain] of Object.entries(chains)) {
    const wanted = { ...chain, seed: 20_26, maxTokens: 40, logprobs: 3 }
    const { tokens, logprobs } = await engine.complete(PROMPT, wanted).result
    expect(tokens.length).toBeGreaterThan(10)
    replies[name] = { tokens, logprobs }
  }
  return replies
}

describe('the same seed', () => {
  test('gives the same ids and log-probabilities everywhere, and each chain its own', async () => {
    const [first, ...others] = await Promise.all(BUILDS.map(drawAll))
    for (const other of others) expect(other).toEqual(first)
    expect(new Set(Object.values(first!).map((reply) => JSON.stringify(reply))).size).toBe(
      Object.keys(chains).length,
    )
  })
})

/** The most tokens in a row that stand in two places. */
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

test('DRY keeps greedy text from repeating itself', async () => {
  await using engine = await openEngine([repositoryFile(EMBEDDED_PATH)], BUILDS[0]!)
  const repeat = async (options: GenerateOptions) => {
    const { tokens } = await engine.complete(PROMPT, { temperature: 0, maxTokens: 300, ...options }).result
    return longestRepeat(tokens)
  }
  const [plain, dry] = [await repeat({}), await repeat({ dryMultiplier: 2, drySequenceBreakers: [] })]
  expect(plain).toBeGreaterThan(100)
  expect(dry).toBeLessThan(8)
})

test('the log-probabilities of greedy tokens are the largest there are', async () => {
  await using engine = await openEngine([repositoryFile(EMBEDDED_PATH)], BUILDS[0]!)
  const { logprobs } = await engine.complete(PROMPT, { temperature: 0, maxTokens: 20, logprobs: 5 }).result
  expect(logprobs).toHaveLength(20)
  for (const { id, logprob, top } of logprobs!) {
    expect(top[0]).toMatchObject({ id, logprob })
    expect(top.map((one) => one.logprob)).toEqual(top.map((one) => one.logprob).toSorted((a, b) => b - a))
    expect(top.reduce((sum, one) => sum + Math.exp(one.logprob), 0)).toBeLessThanOrEqual(1 + 1e-6)
  }
})
