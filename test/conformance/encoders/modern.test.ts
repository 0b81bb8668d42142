// ModernBERT. In: random encoders and rerankers of odd shapes. Out: the vectors and scores of a definition in
// f64, from safetensors and GGUF.
import { describe, expect, test } from 'vitest'
import { jsonSpec } from '../../../src/core/text/testing/tiny.ts'
import { encoderTokenizer } from '../../../src/core/text/tokenize/read/encoder-tokenizer.ts'
import { pooled, scaled } from '../testing/random-bert.ts'
import { distance, withEmbedder } from './open-embedder.ts'
import { around, bodyFolder } from './random-bodies.ts'
import { modernGguf, modernScore, modernStates, type RandomModern, randomModern } from './random-modern.ts'

const TEXTS = ['hello world', '', 'a', `${'one hello world or two '.repeat(4)}é`, 'x'.repeat(90)]
const plain = encoderTokenizer(jsonSpec())
const [before, after] = around({ family: 'modern' })
const idsOf = (text: string): number[] => [...before, ...plain.encode(text), ...after]
const vectorOf = (model: RandomModern, text: string): Float64Array =>
  scaled(pooled(modernStates(model, idsOf(text)), () => 1))

describe('ModernBERT', () => {
  test.each(Array.from({ length: 18 }, (_, seed) => seed))(
    'has the vectors of the definition, %i',
    async (seed) => {
      const model = randomModern(seed)
      const files =
        seed % 3 === 2
          ? [await modernGguf(model)]
          : bodyFolder(model, { prefix: seed % 3 === 1 ? 'model.' : '' })
      await withEmbedder(files, {}, async (embedder) => {
        expect(embedder.model.architecture).toBe('modern-bert')
        const { vectors, tokens } = await embedder.embed(TEXTS)
        expect(tokens).toEqual(TEXTS.map((text) => idsOf(text).length))
        for (const [index, text] of TEXTS.entries())
          expect(distance(vectors[index]!, vectorOf(model, text))).toBeLessThan(1e-5)
      })
    },
  )

  test('is bit-identical alone, in a batch, on two threads and in either build', async () => {
    const files = bodyFolder(randomModern(7))
    const many = Array.from({ length: 40 }, (_, n) => 'hello world or '.repeat(n % 9) + n)
    const together = await withEmbedder(files, {}, (embedder) => embedder.embed(many))
    const alone = await withEmbedder(files, { build: 'simd128' }, (embedder) => embedder.embed([many[8]!]))
    expect(alone.vectors[0]).toEqual(together.vectors[8])
    const options = { threads: 2, pool: 'shared' } as const
    const threaded = await withEmbedder(files, options, (embedder) => embedder.embed(many))
    expect(threaded.vectors).toEqual(together.vectors)
  })

  test('gives almost the same vectors in int8', async () => {
    const model = randomModern(7)
    await withEmbedder(bodyFolder(model), { weights: 'w8' }, async (embedder) => {
      const { vectors } = await embedder.embed(TEXTS)
      for (const [index, text] of TEXTS.entries()) {
        const right = vectorOf(model, text)
        const cosine = right.reduce((sum, value, i) => sum + value * vectors[index]![i]!, 0)
        expect(cosine).toBeGreaterThan(0.999)
      }
    })
  })

  test('can be read with the keys of Transformers 5', async () => {
    const model = randomModern(4)
    const { global_rope_theta: full, local_rope_theta: local, ...config } = model.config
    const { num_hidden_layers: layers, global_attn_every_n_layers: every } = model.config
    const kinds = Array.from({ length: layers }, (_, layer) =>
      layer % every === 0 ? 'full_attention' : 'sliding_attention',
    )
    const rope = {
      full_attention: { rope_type: 'default', rope_theta: full },
      sliding_attention: { rope_type: 'default', rope_theta: local },
    }
    const written = {
      ...config,
      global_attn_every_n_layers: 1,
      layer_types: kinds,
      rope_parameters: rope,
    }
    await withEmbedder(bodyFolder({ ...model, config: written }), {}, async (embedder) => {
      const { vectors } = await embedder.embed([TEXTS[3]!])
      expect(distance(vectors[0]!, vectorOf(model, TEXTS[3]!))).toBeLessThan(1e-5)
    })
  })

  test.each([{ attention_bias: true }, { norm_bias: true }, { hidden_activation: 'relu6' }])(
    'with %o is rejected',
    async (change) => {
      const model = randomModern(1)
      const files = bodyFolder({ ...model, config: { ...model.config, ...change } })
      await expect(withEmbedder(files, {}, async () => undefined)).rejects.toMatchObject({
        code: 'unsupported',
        message: expect.stringContaining(String(Object.values(change)[0])),
      })
    },
  )
})

describe('a reranker of ModernBERT', () => {
  const load = (model: RandomModern, config: object = {}) =>
    bodyFolder({ ...model, config: { ...model.config, ...config } }, { prefix: 'model.', modules: [] })

  test.each(Array.from({ length: 10 }, (_, seed) => seed))('scores as defined, %i', async (seed) => {
    const model = randomModern(seed, true)
    const identity = { sentence_transformers: { activation_fn: 'torch.nn.Identity' } }
    await withEmbedder(load(model, identity), {}, async (embedder) => {
      expect(embedder.model.task).toBe('rerank')
      expect(embedder.model.pooling).toBe(model.config.classifier_pooling)
      const { results } = await embedder.rerank('hello', TEXTS)
      for (const { index, score } of results) {
        const ids = [...idsOf('hello'), ...plain.encode(TEXTS[index]!), ...after]
        expect(score).toBeCloseTo(modernScore(model, ids), 4)
      }
    })
  })

  // GGUF does not state how the head pools, and llama.cpp uses the mean.
  test.each(Array.from({ length: 6 }, (_, seed) => seed))('scores as defined from GGUF, %i', async (seed) => {
    const drawn = randomModern(seed, true)
    const model = { ...drawn, config: { ...drawn.config, classifier_pooling: 'mean' as const } }
    await withEmbedder([await modernGguf(model, 4)], {}, async (embedder) => {
      expect([embedder.model.task, embedder.model.pooling]).toEqual(['rerank', 'mean'])
      const { results } = await embedder.rerank('hello', TEXTS)
      for (const { index, score } of results) {
        const ids = [...idsOf('hello'), ...plain.encode(TEXTS[index]!), ...after]
        expect(score).toBeCloseTo(1 / (1 + Math.exp(-modernScore(model, ids))), 4)
      }
    })
  })

  test.each([{ classifier_pooling: 'max' }, { classifier_activation: 'tanh' }])(
    'with %o is rejected',
    async (change) => {
      const loaded = withEmbedder(load(randomModern(1, true), change), {}, async () => undefined)
      await expect(loaded).rejects.toMatchObject({
        code: 'unsupported',
        message: expect.stringContaining(Object.values(change)[0]!),
      })
    },
  )
})
