// Sentence encoders with decoder layers. In: random encoders of odd shapes. Out: the vectors of a definition
// in f64, from safetensors and GGUF.
import { describe, expect, test } from 'vitest'
import { jsonSpec } from '../../../src/core/text/testing/tiny.ts'
import { encoderTokenizer } from '../../../src/core/text/tokenize/read/encoder-tokenizer.ts'
import { pooled, scaled } from '../testing/random-bert.ts'
import { distance, withEmbedder } from './open-embedder.ts'
import { around, bodyFolder, bodyGguf, bodyStates, type RandomBody, randomBody } from './random-bodies.ts'

const TEXTS = ['hello world', '', 'a', `${'one hello world or two '.repeat(4)}é`, 'x'.repeat(90)]
const plain = encoderTokenizer(jsonSpec())
const idsOf = (model: RandomBody, text: string): number[] => {
  const [before, after] = around(model)
  return [...before, ...plain.encode(text), ...after]
}
/** The last row for Qwen3, the mean of all rows for Gemma. */
const vectorOf = (model: RandomBody, text: string): Float64Array => {
  const rows = bodyStates(model, idsOf(model, text))
  return scaled(model.family === 'gemma' ? pooled(rows, () => 1) : rows.at(-1)!)
}

describe.each(['qwen3', 'gemma'] as const)('an encoder with %s layers', (family) => {
  test.each(Array.from({ length: 16 }, (_, seed) => seed))(
    'has the vectors of the definition, %i',
    async (seed) => {
      const model = randomBody(family, seed)
      const files =
        seed % 3 === 2
          ? [await bodyGguf(model, family === 'gemma' ? 1 : 3)]
          : bodyFolder(model, { prefix: seed % 3 === 1 ? 'model.' : '' })
      await withEmbedder(files, {}, async (embedder) => {
        expect(embedder.model.architecture).toBe(family === 'gemma' ? 'gemma3' : 'qwen3')
        expect(embedder.model.pooling).toBe(family === 'gemma' ? 'mean' : 'last')
        const { vectors, tokens } = await embedder.embed(TEXTS)
        expect(tokens).toEqual(TEXTS.map((text) => idsOf(model, text).length))
        for (const [index, text] of TEXTS.entries())
          expect(distance(vectors[index]!, vectorOf(model, text))).toBeLessThan(1e-5)
      })
    },
  )
})

describe('Qwen3-Embedding', () => {
  const model = randomBody('qwen3', 5)

  test("prepends its files' instruction to queries", async () => {
    const files = bodyFolder(model, { prompts: { query: 'hello: ', document: '' } })
    await withEmbedder(files, {}, async (embedder) => {
      const query = await embedder.embed(['world'], { kind: 'query' })
      expect(distance(query.vectors[0]!, vectorOf(model, 'hello: world'))).toBeLessThan(1e-5)
      const document = await embedder.embed(['world'], { kind: 'document' })
      expect(distance(document.vectors[0]!, vectorOf(model, 'world'))).toBeLessThan(1e-5)
    })
  })

  test('keeps its last token when a text is truncated', async () => {
    await withEmbedder(bodyFolder(model), { maxTokens: 5 }, async (embedder) => {
      const { vectors, truncated } = await embedder.embed(['abcdefgh', 'abcd'])
      expect(truncated).toEqual([0])
      expect(distance(vectors[0]!, vectorOf(model, 'abcd'))).toBeLessThan(1e-5)
      expect(vectors[1]).toEqual(vectors[0])
    })
  })

  test('has steps of 2048 tokens, or of as many as requested', async () => {
    const files = bodyFolder({ ...model, config: { ...model.config, max_position_embeddings: 32_768 } })
    const mostOf = (maxTokens?: number) =>
      withEmbedder(files, { maxTokens }, async (embedder) => embedder.model.maxTokens)
    expect([await mostOf(), await mostOf(4000), await mostOf(60)]).toEqual([2048, 4000, 60])
  })

  test('is bit-identical alone, in a batch and on two threads', async () => {
    const alone = await withEmbedder(bodyFolder(model), {}, (embedder) => embedder.embed(['hello world']))
    const options = { threads: 2, pool: 'shared' } as const
    const beside = await withEmbedder(bodyFolder(model), options, (embedder) => embedder.embed(TEXTS))
    expect(beside.vectors[0]).toEqual(alone.vectors[0])
  })

  test('without a pooling configuration is a chat model', async () => {
    const refusal = (message: string) => ({
      code: 'architecture',
      message: expect.stringContaining(message),
    })
    const folder = withEmbedder(bodyFolder(model, { modules: [] }), {}, async () => undefined)
    await expect(folder).rejects.toMatchObject(refusal('without modules.json'))
    for (const pooling of [undefined, 0]) {
      const file = withEmbedder([await bodyGguf(model, pooling)], {}, async () => undefined)
      await expect(file).rejects.toMatchObject(refusal('without the key pooling_type'))
    }
  })

  test.each([
    { use_sliding_window: true },
    { attention_bias: true },
    { hidden_act: 'relu6' },
    { num_key_value_heads: 7 },
    { head_dim: 300 },
    { rope_theta: -1 },
  ])('with %o is rejected', async (change) => {
    const files = bodyFolder({ ...model, config: { ...model.config, ...change } })
    await expect(withEmbedder(files, {}, async () => undefined)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining(String(Object.values(change)[0])),
    })
  })
})

test('EmbeddingGemma with causal attention is rejected', async () => {
  const model = randomBody('gemma', 5)
  const config = { ...model.config, use_bidirectional_attention: false }
  const load = withEmbedder(bodyFolder({ ...model, config }), {}, async () => undefined)
  await expect(load).rejects.toMatchObject({ code: 'unsupported' })
})
