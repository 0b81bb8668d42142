// Past findings: GGUF files.
import { ggufBytes } from '../../conformance/testing/gguf-writer.ts'
import { ggufContents, ggufFile } from '../../conformance/testing/model-files.ts'
import type { CorpusEntry } from '../corpus.ts'
import { bytesOfFile, tinyLlama } from '../models.ts'

/** The tiny model with one of its weights filled with a number. */
const filled = (title: string, weight: string, value: number): CorpusEntry => ({
  title,
  async input() {
    const model = tinyLlama()
    model.weights.get(weight)?.values.fill(value)
    return { 'model.gguf': await bytesOfFile(await ggufFile(model)), depth: 'load' }
  },
})

export const CORPUS: readonly CorpusEntry[] = [
  filled('a norm that is no number', 'model.norm.weight', Number.NaN),
  filled('infinite weights', 'model.layers.0.mlp.up_proj.weight', Number.POSITIVE_INFINITY),
  filled('an infinite embedding', 'model.embed_tokens.weight', Number.POSITIVE_INFINITY),
  filled('weights that are all 0', 'lm_head.weight', 0),
  {
    title: 'merges of tokens that are none',
    async input() {
      const contents = ggufContents(tinyLlama(), 'F32')
      const metadata = {
        ...contents.metadata,
        'tokenizer.ggml.merges': ['string[]', ['', ' ', '  ', 'a', 'a b c']] as const,
      }
      return { 'model.gguf': await ggufBytes({ ...contents, metadata }), depth: 'plan' }
    },
  },
]
