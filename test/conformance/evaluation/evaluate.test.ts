// Scores and embeddings on the real engine. In: random models. Out: the same values as computed directly from
// the logits and the output matrix.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Engine } from '../../../src/engine/api/engine.ts'
import { negativeLogLikelihood } from '../../../src/engine/score/perplexity.ts'
import { localConnection } from '../../../src/engine/wire/connection.ts'
import { ggufFile } from '../testing/model-files.ts'
import { logitsOf, nodeService, openEngine, withBuilt } from '../testing/node-engine.ts'
import { randomLlama } from '../testing/random-llama.ts'

const MODEL = randomLlama({ seed: 7, tied: true })
const files = async () => [await ggufFile(MODEL)]
/** Longer than one chunk of rows with logits. */
const TEXT = 'over the hills and far away the river runs to the sea'

let engine: Engine
beforeAll(async () => {
  engine = await openEngine(await files())
})
afterAll(() => engine.dispose())

describe('tokens', () => {
  test('ids decode to their text, and an invalid id is rejected', async () => {
    const ids = await engine.tokenize('naïve 🦊')
    expect(ids.length).toBe(await engine.countTokens('naïve 🦊'))
    expect(await engine.detokenize(ids)).toBe('naïve 🦊')
    await expect(engine.detokenize([1, 5000])).rejects.toMatchObject({
      code: 'format',
      detail: { id: '5000' },
    })
    await expect(engine.detokenize([0.5])).rejects.toMatchObject({ code: 'format' })
  })
})

describe('scores', () => {
  test('each score is the sum over its tokens in one forward pass over the whole text', async () => {
    const continuations = [' green', ' and some more words than fit in one step', 'x', '']
    const scores = await engine.score(TEXT, continuations)
    const prompt = await engine.tokenize(TEXT)
    for (const [index, text] of continuations.entries()) {
      const ids = (await engine.tokenize(TEXT + text)).slice(prompt.length)
      const table = await withBuilt(await files(), {}, (built) => logitsOf(built, [...prompt, ...ids]))
      const rowOf = (at: number) => table[prompt.length - 1 + at]!
      const expected = ids.reduce((sum, id, at) => sum - negativeLogLikelihood(rowOf(at), id), 0)
      expect(scores[index]).toEqual({
        logProbability: expected,
        tokens: ids.length,
        isGreedy: ids.every((id, at) => rowOf(at).indexOf(Math.max(...rowOf(at))) === id),
      })
    }
  })

  test('a greedy continuation is reported as greedy', async () => {
    let seen = 0
    for (const prompt of TEXT) {
      const { tokens, text } = await engine.complete(prompt, { temperature: 0, maxTokens: 1 }).result
      // A random model may also generate partial characters, which no text contains.
      if ((await engine.tokenize(prompt + text)).at(-1) !== tokens[0]) continue
      expect(await engine.score(prompt, [text])).toMatchObject([{ tokens: 1, isGreedy: true }])
      seen++
    }
    expect(seen).toBeGreaterThan(0)
  })

  test('each token is scored as in one forward pass, even if its state is stored and then continued', async () => {
    const ids = await engine.tokenize(TEXT)
    const options = { temperature: 0, maxTokens: 3, logprobs: 2 }
    const before = await engine.complete(TEXT, options).result
    const table = await withBuilt(await files(), {}, (built) => logitsOf(built, ids))
    const scored = await engine.scoreTokens(TEXT, { top: 2 })
    expect(scored.map(({ id }) => id)).toEqual(ids)
    expect(scored[0]).toEqual({ id: ids[0], text: expect.any(String), bytes: expect.any(Array), top: [] })
    for (const [at, { id, logprob, top }] of scored.entries()) {
      if (at === 0) continue
      const row = table[at - 1]!
      const ranked = [...row.keys()].sort((one, other) => row[other]! - row[one]!).slice(0, 2)
      expect(top.map(({ id }) => id)).toEqual(ranked)
      expect(logprob).toBeCloseTo(-negativeLogLikelihood(row, id), 4)
      for (const each of top) expect(each.logprob).toBeCloseTo(-negativeLogLikelihood(row, each.id), 4)
    }
    expect(await engine.scoreTokens(ids, { top: 2 })).toEqual(scored)
    const { tokens, logprobs, usage } = await engine.complete(ids, options).result
    expect({ tokens, logprobs }).toEqual({ tokens: before.tokens, logprobs: before.logprobs })
    expect(usage.cachedTokens).toBe(ids.length - 1)
    const whole = await engine.scoreTokens([...ids, ...tokens], { top: 2 })
    expect(whole.slice(ids.length)).toEqual(logprobs)
  })

  test('no state is left behind, an empty prompt is rejected, and calls can be aborted', async () => {
    expect((await engine.memory()).stateBytes).toBe(0)
    await expect(engine.score('', ['a'])).rejects.toMatchObject({ code: 'unsupported' })
    const reason = new Error('enough')
    const controller = new AbortController()
    const scoring = engine.score(TEXT.repeat(20), ['a'], { signal: controller.signal })
    controller.abort(reason)
    await expect(scoring).rejects.toBe(reason)
    await expect.poll(async () => (await engine.memory()).stateBytes).toBe(0)
  })
})

describe('embeddings', () => {
  /** Computes the logits of a hidden state: the embedding table is the output matrix. */
  const logitsBy = (hidden: Float32Array): number[] => {
    const { values, shape } = MODEL.weights.get('model.embed_tokens.weight')!
    const [rows, width] = shape as [number, number]
    return Array.from({ length: rows }, (_, row) =>
      hidden.reduce((sum, value, i) => sum + value * values[row * width + i]!, 0),
    )
  }

  test('the last position’s vector gives that position’s logits', async () => {
    const [vector] = await engine.embed([TEXT], { pooling: 'last', normalize: false })
    const table = await withBuilt(await files(), {}, async (built) =>
      logitsOf(built, await engine.tokenize(TEXT)),
    )
    const made = logitsBy(vector!)
    const largest = Math.max(...made.map((value, id) => Math.abs(value - table.at(-1)![id]!)))
    expect(largest).toBeLessThan(1e-4)
  })

  test('the mean is over all prefixes, and is normalised', async () => {
    const ids = await engine.tokenize(TEXT)
    const prefixes = await Promise.all(ids.map((_, index) => engine.detokenize(ids.slice(0, index + 1))))
    const last = await engine.embed(prefixes, { pooling: 'last', normalize: false })
    const [mean] = await engine.embed([TEXT], { normalize: false })
    const [unit] = await engine.embed([TEXT])
    const byHand = mean!.map((_, i) => last.reduce((sum, vector) => sum + vector[i]!, 0) / last.length)
    for (const [i, value] of byHand.entries()) expect(mean![i]).toBeCloseTo(value, 4)
    expect(unit!.reduce((sum, value) => sum + value * value, 0)).toBeCloseTo(1, 5)
  })

  test.each(['w8', 'w4'] as const)('it also works with %s weights, during a reply', async (weights) => {
    await using small = await openEngine(await files(), { weights })
    const [alone] = await small.embed([TEXT])
    const reply = small.complete(TEXT, { temperature: 0, maxTokens: 30 })
    const [beside] = await small.embed([TEXT])
    expect(beside).toEqual(alone)
    expect((await reply.result).tokens).toEqual(
      (await small.complete(TEXT, { temperature: 0, maxTokens: 30 }).result).tokens,
    )
  })

  test('an empty text is rejected', async () => {
    await expect(engine.embed([''])).rejects.toMatchObject({ code: 'unsupported' })
  })
})

test('without a model every call is rejected', async () => {
  const service = nodeService()
  expect(() => service.tokenize('a')).toThrow('load one')
  await Engine.open(localConnection(service), await files()).then((it) => it.dispose())
})
