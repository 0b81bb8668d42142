import { describe, expect, test } from 'vitest'
import { fixtureFile } from '../../helpers/fixture.ts'
import { FAMILY_CASES } from '../testing/families/family-cases.ts'
import { drawFamily, familySafetensors } from '../testing/families/family-files.ts'
import {
  EMBEDDED_OPTIONS,
  EMBEDDED_TURNS,
  GOLDEN_CASES,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
  TINY_PATH,
} from '../testing/golden.ts'
import { logitsOf, openEngine, relativeError, repositoryFile, withBuilt } from '../testing/node-engine.ts'

/**
 * Shards sum in another order. With float weights, only f32 rounding differs. With quantised weights, an
 * activation halfway between two codes may round to the other code, an error of 1/254 of its group's maximum.
 * docs/guide/pools.md states these bounds.
 */
const FLOAT_BOUND = 1e-5
const QUANTIZED_BOUND = 0.02

const storiesFile = (name: string): File => fixtureFile(`stories260k/stories260K-${name}.gguf`)

const POOLS = [
  { pool: 'single', threads: 1 },
  { pool: 'shared', threads: 2 },
  { pool: 'shared', threads: 4 },
  { pool: 'shards', threads: 2 },
  { pool: 'shards', threads: 4 },
] as const

/** How far a token's logit is below the best one, relative to the best. */
const lag = (logits: Float32Array, id: number): number => {
  const best = Math.max(...logits)
  return (best - logits[id]!) / Math.abs(best)
}

const tokens = Array.from({ length: 150 }, (_, index) => 3 + ((index * 29) % 250))

describe('shards', () => {
  test.each(GOLDEN_CASES)('of $name give the golden text', async (one) => {
    const files = [await goldenFile(one)]
    await using engine = await openEngine(files, { pool: 'shards', threads: 2, weights: one.weights })
    expect(engine).toMatchObject({ pool: 'shards', threads: 2, note: undefined })
    const { text, tokens } = await engine.complete(GOLDEN_PROMPT, GOLDEN_OPTIONS).result
    expect({ text, tokens }).toEqual(goldenReply(one))
  })

  test('are at most as many as the model can be split into', async () => {
    const [, , , w8] = GOLDEN_CASES
    // Heads of 16 in groups of 32 inputs: four heads allow two shards.
    await using engine = await openEngine([await goldenFile(w8!)], {
      pool: 'shards',
      threads: 4,
      weights: 'w8',
    })
    expect(engine.threads).toBe(2)
  })

  test.each(POOLS)('or not, the small Llama gives the same replies: $pool of $threads', async (options) => {
    const files = [repositoryFile(TINY_PATH)]
    await using engine = await openEngine(files, options)
    expect(engine).toMatchObject(options)
    for (const prompt of EMBEDDED_TURNS) {
      const { tokens } = await engine.complete(prompt, EMBEDDED_OPTIONS).result
      expect(tokens.length).toBeGreaterThan(10)
      // If one thread's best two tokens are closer than the bound, either may be picked.
      const behind = await withBuilt(files, {}, async (built) => {
        const ids = built.text.encode(prompt, true)
        const rows = await logitsOf(built, [...ids, ...tokens])
        return tokens.map((id, index) => lag(rows[ids.length - 1 + index]!, id))
      })
      expect(Math.max(...behind)).toBeLessThan(options.pool === 'shards' ? QUANTIZED_BOUND : 1e-9)
    }
  })

  test.each(GOLDEN_CASES)('of $name have logits within the bound, even with unequal shares', async (one) => {
    const files = [await goldenFile(one)]
    const { weights } = one
    const right = await withBuilt(files, { weights }, (built) => logitsOf(built, tokens))
    const bound = one.name === 'w8' || one.name === 'w4' ? QUANTIZED_BOUND : FLOAT_BOUND
    for (const shares of [
      [1, 1],
      [3, 1],
    ]) {
      const options = { pool: 'shards', threads: shares.length, shares, weights } as const
      const rows = await withBuilt(files, options, (built) => logitsOf(built, tokens))
      expect(relativeError(rows, right)).toBeLessThan(bound)
    }
  })
})

describe('stories260k', () => {
  const PROMPT = 'Once upon a time, there was a little girl'
  test.each(['f32', 'F16', 'mix-Q8_0', 'mix-Q4_0'])(
    'gives the same text in %s from every pool',
    async (name) => {
      const texts = new Map<string, string>()
      for (const options of POOLS) {
        await using engine = await openEngine([storiesFile(name)], options)
        const { text } = await engine.complete(PROMPT, { temperature: 0, maxTokens: 100 }).result
        texts.set(`${engine.pool} ${engine.threads}`, text)
      }
      expect([...new Set(texts.values())]).toHaveLength(1)
    },
  )

  test.each([
    ['f32', FLOAT_BOUND],
    ['mix-Q8_0', QUANTIZED_BOUND],
    ['mix-Q4_0', QUANTIZED_BOUND],
  ])('has logits within the bound in %s from two and four shards', async (name, bound) => {
    const files = [storiesFile(name)]
    const right = await withBuilt(files, {}, (built) => logitsOf(built, tokens))
    for (const threads of [2, 4]) {
      const rows = await withBuilt(files, { pool: 'shards', threads }, (built) => logitsOf(built, tokens))
      expect(relativeError(rows, right)).toBeLessThan(bound)
    }
  })
})

test.each([
  ['qwen3moe', /its linear layers\.0\.router produces values that route reads; use one thread/],
  ['olmo2', /its ropeKv layers\.0\.attn_rope normalises heads of several workers; use one thread/],
  ['gpt2', /its linear layers\.0\.attn_product adds a bias to a sum of several workers; use one thread/],
])('a model of %s runs on one thread, and the engine says why', async (family, why) => {
  const one = FAMILY_CASES.find((each) => each.family === family)!
  const options = { pool: 'shards', threads: 2, contextLength: 128 } as const
  const info = await withBuilt(
    familySafetensors(one, drawFamily(one, 1)),
    options,
    async (built) => built.info,
  )
  expect(info).toMatchObject({ pool: 'single', threads: 1 })
  expect(info.notes).toMatchObject([{ code: 'uncut-model', text: expect.stringMatching(why) }])
})

test('norms of a block’s output use the sums of all workers', async () => {
  const one = FAMILY_CASES.find(({ family }) => family === 'gemma3')!
  const files = familySafetensors(one, drawFamily(one, 1))
  const options = { contextLength: 128 }
  const ids = tokens.slice(0, 90).map((id) => id % 90)
  const right = await withBuilt(files, options, (built) => logitsOf(built, ids))
  await withBuilt(files, { ...options, pool: 'shards', threads: 3 }, async (built) => {
    expect(built.info.threads).toBe(3)
    expect(relativeError(await logitsOf(built, ids), right)).toBeLessThan(FLOAT_BOUND)
  })
})
