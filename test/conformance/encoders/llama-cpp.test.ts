// Encoders in GGUF beside llama.cpp. In: random files. Out: its vectors.
import { expect, test } from 'vitest'
import { llamaCppAddon, llamaCppPooled } from '../testing/llama-cpp.ts'
import { bertGguf, scaled, wordPieces } from '../testing/random-bert.ts'
import { distance, withEmbedder } from './open-embedder.ts'
import { randomDistances } from './random-distances.ts'

const TEXTS = ['the running cat', 'abc the runner '.repeat(12)]

const addon = llamaCppAddon()
if (addon === undefined)
  console.warn('skipped: the comparison with llama.cpp needs @node-llama-cpp/linux-x64')

// llama.cpp rounds keys and values to 16 bits, and reads GELU from a table of 16-bit numbers.
test.skipIf(addon === undefined).each(Array.from({ length: 16 }, (_, seed) => seed))(
  'jina-bert-v2 has the vectors of llama.cpp, %i',
  async (seed) => {
    const file = await bertGguf(randomDistances('jina', seed), 1, 'jina-bert-v2')
    await withEmbedder([file], {}, async (embedder) => {
      const { vectors } = await embedder.embed(TEXTS)
      for (const [index, text] of TEXTS.entries()) {
        const right = scaled(await llamaCppPooled(file, wordPieces(text), addon ?? '', 'vector'))
        expect(distance(vectors[index]!, right)).toBeLessThan(1e-3)
      }
    })
  },
)
