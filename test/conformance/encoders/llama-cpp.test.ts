// Encoders in GGUF compared with llama.cpp. In: random files. Out: the same vectors and pair scores.
import { expect, test } from 'vitest'
import { jsonSpec } from '../../../src/core/text/testing/tiny.ts'
import { encoderTokenizer } from '../../../src/core/text/tokenize/read/encoder-tokenizer.ts'
import { llamaCppAddon, llamaCppPooled } from '../testing/llama-cpp.ts'
import { bertGguf, randomBert, scaled, wordPieces } from '../testing/random-bert.ts'
import { distance, withEmbedder } from './open-embedder.ts'
import { around } from './random-bodies.ts'
import { halved, randomDistances } from './random-distances.ts'
import { modernGguf, randomModern } from './random-modern.ts'

const TEXTS = ['the running cat', 'abc the runner '.repeat(12)]

const addon = llamaCppAddon()
if (addon === undefined)
  console.warn('skipped: the comparison with llama.cpp needs @node-llama-cpp/linux-x64')

// llama.cpp rounds keys and values to 16 bits, and reads GELU from a table of 16-bit numbers.
test.skipIf(addon === undefined).each(Array.from({ length: 24 }, (_, seed) => seed))(
  "jina-bert-v2 gives llama.cpp's vectors, %i",
  async (seed) => {
    // If the halves of a gated block are one tensor, llama.cpp applies the activation to the first half, and
    // the author's code model to the second.
    const model = seed % 3 === 2 ? halved(randomDistances('code', seed)) : randomDistances('jina', seed)
    const file = await bertGguf(model, 1, 'jina-bert-v2')
    await withEmbedder([file], {}, async (embedder) => {
      const { vectors } = await embedder.embed(TEXTS)
      for (const [index, text] of TEXTS.entries()) {
        const right = scaled(await llamaCppPooled(file, wordPieces(text), addon ?? '', 'vector'))
        expect(distance(vectors[index]!, right)).toBeLessThan(1e-3)
      }
    })
  },
)

const sigmoid = (score: number) => 1 / (1 + Math.exp(-score))

/** The query's score with each text, compared with llama.cpp's for the same ids. */
async function compareScores(file: File, idsOf: (text: string) => readonly number[]): Promise<void> {
  await withEmbedder([file], {}, async (embedder) => {
    const { results } = await embedder.rerank('the cat', TEXTS)
    for (const { index, score } of results) {
      const [right = Number.NaN] = await llamaCppPooled(file, idsOf(TEXTS[index]!), addon ?? '', 'score')
      expect(Math.abs(score - sigmoid(right))).toBeLessThan(1e-3)
    }
  })
}

// llama.cpp gives all tokens the first type, so these models have only that one.
test.skipIf(addon === undefined).each([0, 1, 2, 3, 4, 5, 6, 7])(
  "a BERT reranker gives llama.cpp's scores, %i",
  async (seed) => {
    const { config, weights } = randomBert(seed, { isReranker: true })
    const name = 'embeddings.token_type_embeddings.weight'
    const values = weights.get(name)!.values.slice(0, config.hidden_size)
    const kinds = { shape: [1, config.hidden_size], values }
    const one = { config: { ...config, type_vocab_size: 1 }, weights: new Map([...weights, [name, kinds]]) }
    await compareScores(await bertGguf(one, 4), (text) => [
      ...wordPieces('the cat'),
      ...wordPieces(text).slice(1),
    ])
  },
)

// llama.cpp crashes if no layer has a window, so these have several layers.
test.skipIf(addon === undefined).each([1, 4, 7, 8, 9, 10, 11, 12])(
  "a ModernBERT reranker gives llama.cpp's scores, %i",
  async (seed) => {
    const plain = encoderTokenizer(jsonSpec())
    const [before, after] = around({ family: 'modern' })
    await compareScores(await modernGguf(randomModern(seed, true), 4), (text) => [
      ...before,
      ...plain.encode('the cat'),
      ...after,
      ...plain.encode(text),
      ...after,
    ])
  },
)
