// Past findings: GGUF files.

import { bufferSource } from '../../../src/core/base/bytes.ts'
import { BLOCKS } from '../../../src/core/formats/dtypes.ts'
import { readGguf } from '../../../src/core/formats/gguf/gguf.ts'
import { ggufContents, ggufFile } from '../../conformance/testing/model-files.ts'
import { ggufBytes } from '../../conformance/testing/writers/gguf-writer.ts'
import type { CorpusEntry } from '../corpus.ts'
import { bytesOfFile, tinyLlama, typedLlama } from '../models.ts'

/** The tiny model with one of its weights filled with a number. */
const filled = (title: string, weight: string, value: number): CorpusEntry => ({
  title,
  async input() {
    const model = tinyLlama()
    model.weights.get(weight)?.values.fill(value)
    return { 'model.gguf': await bytesOfFile(await ggufFile(model)), depth: 'load' }
  },
})

/** A model of many types whose blocks repeat one byte. */
const blocksOf = (title: string, turn: number, byte: number): CorpusEntry => ({
  title,
  async input() {
    const bytes = await bytesOfFile(await typedLlama(turn))
    const { tensors } = await readGguf(bufferSource('model.gguf', bytes))
    for (const { dtype, offset, byteLength } of tensors.values()) {
      if (BLOCKS[dtype].elements > 1) bytes.fill(byte, offset, offset + byteLength)
    }
    return { 'model.gguf': bytes, depth: 'load' }
  },
})

export const CORPUS: readonly CorpusEntry[] = [
  filled('a norm of NaN', 'model.norm.weight', Number.NaN),
  filled('infinite weights', 'model.layers.0.mlp.up_proj.weight', Number.POSITIVE_INFINITY),
  filled('an infinite embedding', 'model.embed_tokens.weight', Number.POSITIVE_INFINITY),
  filled('weights that are all 0', 'lm_head.weight', 0),
  blocksOf('blocks of the first 14 types with every bit set', 0, 0xff),
  blocksOf('blocks of the last types with every bit set', 14, 0xff),
  blocksOf('blocks of the first 14 types that are all 0', 0, 0),
  blocksOf('blocks of the last types with the largest scales', 14, 0x7b),
  {
    title: 'merges of nonexistent tokens',
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
