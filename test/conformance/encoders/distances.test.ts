// Encoders with distance biases. In: random MPNets and jina-bert-v2s of odd shapes. Out: the vectors of a
// definition in f64, from safetensors and GGUF.
//
// The definition itself is compared with transformers' hidden states, which transformers/encoders.py wrote to
// transformers/encoders. Transformers has no jina-bert-v2, so llama-cpp.test.ts compares that with llama.cpp.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bertFolder, bertGguf, pooled, scaled, wordPieces } from '../testing/random-bert.ts'
import { type Row, tensorsOf } from '../transformers/weights.ts'
import { distance, withEmbedder } from './open-embedder.ts'
import {
  type DistanceFamily,
  distanceStates,
  halved,
  type RandomDistances,
  randomDistances,
} from './random-distances.ts'

/** The last case has texts of the maximum length, so that all distances occur. */
const TEXTS = ['the cat', '', 'a', 'The running cats, 12 of the runners.', 'abc the runner '.repeat(30)]
const MAX_TOKENS = 150
const idsOf = (text: string): number[] => {
  const ids = wordPieces(text)
  return ids.length > MAX_TOKENS ? [...ids.slice(0, MAX_TOKENS - 1), ids.at(-1)!] : ids
}
const vectorOf = (model: RandomDistances, text: string): Float64Array =>
  scaled(pooled(distanceStates(model, idsOf(text)), () => 1))

async function filesOf(model: RandomDistances, seed: number): Promise<File[]> {
  const form = seed % (model.family === 'mpnet' ? 2 : 4)
  if (form < 2)
    return bertFolder(model, { prefix: form === 0 ? '' : model.family === 'mpnet' ? 'mpnet.' : 'bert.' })
  return [await bertGguf(form === 2 ? model : halved(model), 1, 'jina-bert-v2')]
}

describe.each<[DistanceFamily, string]>([
  ['mpnet', 'mpnet'],
  ['jina', 'jina-bert-v2'],
  ['code', 'jina-bert-v2'],
])('an encoder of the family %s', (family, architecture) => {
  test.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'has the vectors of the definition, %i',
    async (seed) => {
      const model = randomDistances(family, seed)
      await withEmbedder(await filesOf(model, seed), {}, async (embedder) => {
        expect(embedder.model.architecture).toBe(architecture)
        expect(embedder.model.maxTokens).toBe(MAX_TOKENS)
        const { vectors, tokens, truncated } = await embedder.embed(TEXTS)
        expect(tokens).toEqual(TEXTS.map((text) => idsOf(text).length))
        expect(truncated).toEqual([4])
        for (const [index, text] of TEXTS.entries())
          expect(distance(vectors[index]!, vectorOf(model, text))).toBeLessThan(1e-5)
      })
    },
  )

  test('is bit-identical alone, in a batch, on two threads and in either build', async () => {
    const files = bertFolder(randomDistances(family, 3))
    const many = Array.from({ length: 40 }, (_, n) => `${'the runner '.repeat(n % 9)}${n}`)
    const together = await withEmbedder(files, {}, (embedder) => embedder.embed(many))
    const alone = await withEmbedder(files, { build: 'simd128' }, (embedder) => embedder.embed([many[8]!]))
    expect(alone.vectors[0]).toEqual(together.vectors[8])
    const options = { threads: 2, pool: 'shared' } as const
    const threaded = await withEmbedder(files, options, (embedder) => embedder.embed(many))
    expect(threaded.vectors).toEqual(together.vectors)
  })

  test('gives almost the same vectors in int8', async () => {
    const model = randomDistances(family, 7)
    await withEmbedder(bertFolder(model), { weights: 'w8' }, async (embedder) => {
      const { vectors } = await embedder.embed(TEXTS)
      for (const [index, text] of TEXTS.entries()) {
        const cosine = vectorOf(model, text).reduce((sum, value, i) => sum + value * vectors[index]![i]!, 0)
        expect(cosine).toBeGreaterThan(0.998)
      }
    })
  })

  test('has segments of positions', async () => {
    const model = randomDistances(family, 12, 330)
    const text = 'the cat '.repeat(160)
    await withEmbedder(bertFolder(model), {}, async (embedder) => {
      const { vectors } = await embedder.embed([text])
      const right = scaled(pooled(distanceStates(model, wordPieces(text)), () => 1))
      expect(distance(vectors[0]!, right)).toBeLessThan(1e-5)
    })
  })
})

test.each<[DistanceFamily, object]>([
  ['mpnet', { relative_attention_num_buckets: 64 }],
  ['mpnet', { hidden_act: 'relu6' }],
  ['jina', { position_embedding_type: 'absolute' }],
  ['jina', { feed_forward_type: 'reglu' }],
])('a model of the family %s with %o is rejected', async (family, change) => {
  const model = randomDistances(family, 1)
  const files = bertFolder({ ...model, config: { ...model.config, ...change } })
  await expect(withEmbedder(files, {}, async () => undefined)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining(String(Object.values(change)[0])),
  })
})

interface Case {
  readonly name: string
  readonly config: RandomDistances['config'] & { readonly vocab_size: number }
  readonly tensors: readonly Row[]
  /** By position: base64 of little-endian f32. */
  readonly states: Readonly<Record<string, string>>
}

const golden = new URL('../transformers/encoders/mpnet.json', import.meta.url)
const { cases }: { cases: readonly Case[] } = JSON.parse(readFileSync(golden, 'utf8'))

test.each(cases)(
  "the definition of MPNet gives transformers' states: $name",
  ({ config, tensors, states }) => {
    const weights = new Map([...tensorsOf(tensors)].map(({ name, ...weight }) => [name, weight]))
    const ids = Array.from(
      { length: 290 },
      (_, i) => 2 + ((37 * i + ((i * i) % 11)) % (config.vocab_size - 2)),
    )
    const rows = distanceStates({ family: 'mpnet', config, weights }, ids)
    expect(Object.keys(states)).toEqual(['0', '130', '289'])
    for (const [position, text] of Object.entries(states)) {
      const right = new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer)
      expect(distance(rows[Number(position)]!, Float64Array.from(right))).toBeLessThan(1e-7)
    }
  },
)
