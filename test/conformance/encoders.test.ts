// Sentence encoders. In: random BERTs of odd shapes. Out: the vectors of a definition in f64, from every
// format, pooling and pool.
import { describe, expect, test } from 'vitest'
import { distance, withEmbedder } from './encoders/open-embedder.ts'
import {
  bertFolder,
  bertGguf,
  bertScore,
  bertStates,
  pooled,
  type RandomBert,
  randomBert,
  scaled,
  wordPieces,
} from './testing/random-bert.ts'
import { nomicFolder, nomicStates, randomNomic } from './testing/random-nomic.ts'

const cosine = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  const dot = (x: ArrayLike<number>, y: ArrayLike<number>) =>
    Array.from(x).reduce((sum, value, i) => sum + value * y[i]!, 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

const TEXTS = [
  'the cat',
  'The running cats, 12 of the runners.',
  '',
  'a',
  `${'abc the runner '.repeat(13)}x`,
  '中 the [MASK] 中',
]
/** The definition would split a special token's brackets, so it gets ids. */
const idsOf = (text: string): number[] =>
  text.includes('[MASK]')
    ? [2, ...wordPieces('中 the').slice(1, -1), 4, ...wordPieces('中').slice(1, -1), 3]
    : wordPieces(text)
const meansOf = (model: RandomBert, texts = TEXTS) =>
  texts.map((text) => scaled(pooled(bertStates(model, idsOf(text)), () => 1)))

describe('the vectors of the definition', () => {
  test.each(Array.from({ length: 40 }, (_, seed) => seed))('of a random BERT, %i', async (seed) => {
    const model = randomBert(seed)
    const files =
      seed % 4 === 3 ? [await bertGguf(model)] : bertFolder(model, { prefix: seed % 4 === 1 ? 'bert.' : '' })
    const { vectors, tokens, truncated } = await withEmbedder(files, {}, (embedder) => embedder.embed(TEXTS))
    const right = meansOf(model)
    for (const [index, vector] of vectors.entries())
      expect(distance(vector, right[index]!)).toBeLessThan(1e-5)
    expect(tokens).toEqual(TEXTS.map((text) => idsOf(text).length))
    expect(truncated).toEqual([])
  })

  test.each(['Roberta', 'XLMRoberta'] as const)(
    'of a random %s, whose positions have an offset',
    async (family) => {
      const model = randomBert(21, { family })
      const { vectors } = await withEmbedder(bertFolder(model), {}, (embedder) => embedder.embed(TEXTS))
      const right = meansOf(model)
      for (const [index, vector] of vectors.entries())
        expect(distance(vector, right[index]!)).toBeLessThan(1e-5)
    },
  )

  test.each(Array.from({ length: 12 }, (_, seed) => seed))('of a random nomic-bert, %i', async (seed) => {
    const model = randomNomic(seed)
    const files =
      seed % 3 === 2 ? [await bertGguf(model, 1, 'nomic-bert')] : nomicFolder(model, seed % 3 === 1)
    await withEmbedder(files, {}, async (embedder) => {
      expect(embedder.model.architecture).toBe('nomic-bert')
      const { vectors } = await embedder.embed(TEXTS)
      for (const [index, text] of TEXTS.entries()) {
        const right = scaled(pooled(nomicStates(model, idsOf(text)), () => 1))
        expect(distance(vectors[index]!, right)).toBeLessThan(1e-5)
      }
    })
  })

  test.each([
    { qkv_proj_bias: true },
    { rotary_emb_interleaved: true },
    { activation_function: 'geglu' },
    { rotary_scaling_factor: 2 },
  ])('of a nomic-bert with %o are rejected', async (change) => {
    const { config, weights } = randomNomic(1)
    const load = withEmbedder(
      bertFolder({ weights, config: { ...config, ...change } }),
      {},
      async () => undefined,
    )
    await expect(load).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining(`${Object.values(change)[0]}`),
    })
  })

  test.each<[string, object, (rows: number) => (row: number) => number]>([
    ['cls', { pooling_mode_cls_token: true }, () => (row) => (row === 0 ? 1 : 0)],
    ['last', { pooling_mode_lasttoken: true }, (rows) => (row) => (row === rows - 1 ? 1 : 0)],
    ['weighted mean', { pooling_mode_weightedmean_tokens: true }, () => (row) => row + 1],
    ['mean, in the newer format', { pooling_mode: 'mean' }, () => () => 1],
  ])('by the pooling %s, unnormalised', async (_, pooling, weights) => {
    const model = randomBert(3)
    const { vectors } = await withEmbedder(
      bertFolder(model, { pooling, isNormalized: false }),
      {},
      (embedder) => embedder.embed(TEXTS),
    )
    for (const [index, text] of TEXTS.entries()) {
      const rows = bertStates(model, idsOf(text))
      expect(distance(vectors[index]!, pooled(rows, weights(rows.length)))).toBeLessThan(1e-5)
    }
  })

  test('by the pooling type whose number GGUF stores', async () => {
    const model = randomBert(5)
    const { vectors } = await withEmbedder([await bertGguf(model, 2)], {}, (embedder) =>
      embedder.embed(TEXTS),
    )
    for (const [index, text] of TEXTS.entries())
      expect(distance(vectors[index]!, scaled(bertStates(model, idsOf(text))[0]!))).toBeLessThan(1e-5)
  })

  test('approximately in int8 and int4', async () => {
    const model = randomBert(8)
    const right = meansOf(model)
    for (const [weights, least] of [
      ['w8', 0.999],
      ['w4', 0.97],
    ] as const) {
      const { vectors } = await withEmbedder(bertFolder(model), { weights }, (embedder) =>
        embedder.embed(TEXTS),
      )
      for (const [index, vector] of vectors.entries())
        expect(cosine(vector, right[index]!)).toBeGreaterThan(least)
    }
  })
})

describe('a text', () => {
  test('is bit-identical alone, in a batch and on two threads', async () => {
    const files = bertFolder(randomBert(11))
    const many = Array.from({ length: 50 }, (_, n) => `the cat ${'runner '.repeat(n % 17)}${n}`)
    const together = await withEmbedder(files, {}, (embedder) => embedder.embed(many))
    await withEmbedder(files, {}, async (embedder) => {
      for (const index of [0, 16, 49])
        expect((await embedder.embed([many[index]!])).vectors[0]).toEqual(together.vectors[index])
    })
    const threaded = await withEmbedder(files, { threads: 2, pool: 'shared' }, async (embedder) => {
      expect(embedder.pool).toBe('shared')
      return embedder.embed(many)
    })
    expect(threaded.vectors).toEqual(together.vectors)
    const single = await withEmbedder(files, { build: 'simd128' }, (embedder) => embedder.embed(many))
    expect(single.vectors).toEqual(together.vectors)
  })

  test('runs on one thread if more would need shards, and a note says why', async () => {
    await withEmbedder(bertFolder(randomBert(4)), { threads: 2, pool: 'shards' }, async (embedder) => {
      expect(embedder.pool).toBe('single')
      expect(embedder.notes).toMatchObject([{ code: 'uncut-model' }])
    })
  })

  test('that is too long is truncated, and the result reports it', async () => {
    const model = randomBert(2)
    await withEmbedder(bertFolder(model, { mostTokens: 9 }), {}, async (embedder) => {
      expect(embedder.model.maxTokens).toBe(9)
      const { vectors, tokens, truncated } = await embedder.embed(['cat', 'the cat the cat the cat the cat'])
      expect([tokens, truncated]).toEqual([[3, 9], [1]])
      const ids = [...wordPieces('the cat the cat the cat the').slice(0, 8), 3]
      expect(distance(vectors[1]!, scaled(pooled(bertStates(model, ids), () => 1)))).toBeLessThan(1e-5)
    })
  })

  test('gets its kind’s prompt, and on request a shorter, renormalised vector', async () => {
    const model = randomBert(6)
    const files = bertFolder(model, { prompts: { query: 'run: ', passage: 'the ' } })
    await withEmbedder(files, {}, async (embedder) => {
      const width = embedder.model.dimensions
      const [query, document, plain] = meansOf(model, ['run: cat', 'the cat', 'cat'])
      for (const [kind, right] of [
        ['query', query],
        ['document', document],
        [undefined, plain],
      ] as const) {
        const { vectors } = await embedder.embed(['cat'], { kind, dimensions: width - 3 })
        expect(distance(vectors[0]!, scaled(right!.slice(0, width - 3)))).toBeLessThan(1e-5)
      }
    })
  })

  test('frees its scratch memory', async () => {
    await withEmbedder(bertFolder(randomBert(1)), {}, async (embedder) => {
      await embedder.embed(TEXTS)
      expect((await embedder.memory()).stateBytes).toBe(0)
    })
  })
})

describe('a reranker', () => {
  const DOCUMENTS = ['the cat', '', 'The running cats, 12 of the runners.', `${'abc the runner '.repeat(5)}x`]
  const sigmoid = (score: number) => 1 / (1 + Math.exp(-score))

  test.each(Array.from({ length: 12 }, (_, seed) => seed))('scores as defined, %i', async (seed) => {
    const family = seed < 8 ? 'Bert' : 'XLMRoberta'
    const model = randomBert(seed, { isReranker: true, family })
    const prefix = family === 'Bert' ? 'bert.' : 'roberta.'
    // Half of the files say, in one of two forms, that scores are not transformed.
    const activation = [{}, { sentence_transformers: { activation_fn: 'torch.nn.Identity' } }][seed % 2]!
    const files = bertFolder({ ...model, config: { ...model.config, ...activation } }, { prefix })
    await withEmbedder(files, {}, async (embedder) => {
      expect(embedder.model.task).toBe('rerank')
      const { results, tokens, truncated } = await embedder.rerank('a running cat', DOCUMENTS)
      const right = DOCUMENTS.map((document) => bertScore(model, 'a running cat', document))
      for (const { index, score } of results)
        expect(score).toBeCloseTo(seed % 2 === 0 ? sigmoid(right[index]!) : right[index]!, 4)
      const order = DOCUMENTS.map((_, index) => index).sort((a, b) => right[b]! - right[a]!)
      expect(results.map(({ index }) => index)).toEqual(order)
      const { results: best } = await embedder.rerank('a running cat', DOCUMENTS, { topN: 2 })
      expect(best).toEqual(results.slice(0, 2))
      const between = wordPieces('a running cat').length - 1
      expect(tokens).toEqual(DOCUMENTS.map((document) => between + wordPieces(document).length))
      expect(truncated).toEqual([])
    })
  })

  test.each([0, 1, 2, 3, 4, 5])(
    'scores as defined from GGUF with both parts of its head, %i',
    async (seed) => {
      const model = randomBert(seed, { isReranker: true })
      await withEmbedder([await bertGguf(model, 4)], {}, async (embedder) => {
        expect(embedder.model.task).toBe('rerank')
        const { results } = await embedder.rerank('a running cat', DOCUMENTS)
        for (const { index, score } of results)
          expect(score).toBeCloseTo(sigmoid(bertScore(model, 'a running cat', DOCUMENTS[index]!)), 4)
      })
    },
  )

  test('whose GGUF lacks part of its head is rejected', async () => {
    const { config, weights } = randomBert(1, { isReranker: true })
    // Omits what llama.cpp's converter omits.
    const left = new Map([...weights].filter(([name]) => !name.startsWith('pooler.')))
    const load = withEmbedder([await bertGguf({ config, weights: left }, 4)], {}, async () => undefined)
    await expect(load).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('without its first matrix'),
    })
  })

  test('truncates the longer text of a pair that is too long', async () => {
    const model = randomBert(2, { isReranker: true })
    await withEmbedder(bertFolder(model, { prefix: 'bert.' }), { maxTokens: 12 }, async (embedder) => {
      const score = async (query: string, document: string) => {
        const { results, truncated } = await embedder.rerank(query, [document])
        expect(truncated).toEqual([0])
        return results[0]!.score
      }
      const rightOf = (...texts: readonly [string, string]) => sigmoid(bertScore(model, ...texts))
      // Nine ids of the two texts together fit.
      expect(await score('the cat', 'the '.repeat(20))).toBeCloseTo(rightOf('the cat', 'the '.repeat(7)), 4)
      expect(await score('the '.repeat(20), 'cat')).toBeCloseTo(rightOf('the '.repeat(8), 'cat'), 4)
      const both = rightOf('cat '.repeat(4), 'the '.repeat(5))
      expect(await score('cat '.repeat(30), 'the '.repeat(40))).toBeCloseTo(both, 4)
    })
  })

  test('makes no vectors, and an encoder makes no scores', async () => {
    const reranker = bertFolder(randomBert(1, { isReranker: true }), { prefix: 'bert.' })
    const refusal = { code: 'unsupported' }
    await withEmbedder(reranker, {}, (embedder) =>
      expect(embedder.embed(['cat'])).rejects.toMatchObject({
        ...refusal,
        message: expect.stringContaining('call rerank'),
      }),
    )
    await withEmbedder(bertFolder(randomBert(1)), {}, (embedder) =>
      expect(embedder.rerank('cat', ['cat'])).rejects.toMatchObject({
        ...refusal,
        message: expect.stringContaining('call embed'),
      }),
    )
  })

  test.each<[string, (model: RandomBert) => RandomBert, RegExp]>([
    [
      'several labels',
      ({ config, weights }) => {
        const shape = [3, config.hidden_size]
        const head = { shape, values: new Float32Array(3 * config.hidden_size) }
        return { config, weights: new Map([...weights, ['classifier.weight', head]]) }
      },
      /a head of 3 labels/,
    ],
    [
      'another activation',
      ({ config, weights }) => ({
        weights,
        config: { ...config, sbert_ce_default_activation_function: 'torch.nn.modules.activation.Tanh' },
      }),
      /scores by .*Tanh/,
    ],
  ])('with %s is rejected', async (_, change, message) => {
    const model = change(randomBert(1, { isReranker: true }))
    const load = withEmbedder(bertFolder(model, { prefix: 'bert.' }), {}, async () => undefined)
    await expect(load).rejects.toMatchObject({ code: 'unsupported', message: expect.stringMatching(message) })
  })

  test.each([
    [{ topN: 0 }, 'topN'],
    [{ top: 1 }, 'top'],
  ])('rejects %o', async (options, name) => {
    await withEmbedder(
      bertFolder(randomBert(1, { isReranker: true }), { prefix: 'bert.' }),
      {},
      async (embedder) => {
        const asked = embedder.rerank('cat', ['cat'], options as object)
        await expect(asked).rejects.toMatchObject({
          code: 'unsupported',
          message: expect.stringContaining(name),
        })
      },
    )
  })
})

describe('a call', () => {
  const files = bertFolder(randomBert(7))
  const many = Array.from({ length: 200 }, () => 'the cat runs '.repeat(5))

  test('reports progress, and stops when its signal is aborted', async () => {
    await withEmbedder(files, {}, async (embedder) => {
      const told: number[] = []
      const abort = new AbortController()
      const first = embedder.embed(many, {
        signal: abort.signal,
        onProgress: ({ done, total }) => {
          told.push(done / total)
          abort.abort(new Error('enough'))
        },
      })
      await expect(first).rejects.toThrow('enough')
      expect(told).toHaveLength(1)
      const signal = AbortSignal.abort(new Error('earlier'))
      await expect(embedder.embed(['cat'], { signal })).rejects.toThrow('earlier')
      const { vectors } = await embedder.embed(['cat'])
      expect(vectors).toHaveLength(1)
    })
  })

  test('waits for earlier calls', async () => {
    await withEmbedder(files, {}, async (embedder) => {
      const all = await Promise.all([embedder.embed(many), embedder.embed(['cat']), embedder.embed(many)])
      expect(all[2].vectors).toEqual(all[0].vectors)
    })
  })

  test.each([
    [{ dimensions: 0 }, 'dimensions'],
    [{ dimensions: 1e6 }, 'dimensions'],
    [{ kind: 'passage' }, 'kind'],
    [{ pooling: 'mean' }, 'pooling'],
  ])('rejects %o', async (options, name) => {
    await withEmbedder(files, {}, async (embedder) => {
      const asked = embedder.embed(['cat'], options as object)
      await expect(asked).rejects.toMatchObject({
        code: 'unsupported',
        message: expect.stringContaining(name),
      })
    })
  })

  test('of a chat model is rejected when it is loaded', async () => {
    const config = new File([JSON.stringify({ architectures: ['LlamaForCausalLM'] })], 'config.json')
    const others = files.filter(({ name, size }) => name !== 'config.json' || size < 100)
    await expect(withEmbedder([...others, config], {}, async () => undefined)).rejects.toMatchObject({
      code: 'architecture',
      message: expect.stringContaining('LlamaForCausalLM'),
    })
  })
})
