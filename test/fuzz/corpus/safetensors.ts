// Past findings: safetensors.
import { safetensorsFiles } from '../../conformance/testing/model-files.ts'
import type { CorpusEntry } from '../corpus.ts'
import { inputOf, tinyLlama } from '../models.ts'
import { quantizedModels } from '../quantized.ts'
import { TRAP } from './values.ts'

const entry = (title: string, changes: object, depth = 'plan'): CorpusEntry => ({
  title,
  async input() {
    const model = tinyLlama()
    const files = await inputOf(safetensorsFiles(model))
    return { ...files, 'config.json': JSON.stringify({ ...model.config, ...changes }), depth }
  },
})

/** The same value in each way to quantise. */
const quantized = (title: string, changes: object): CorpusEntry[] =>
  quantizedModels(changes).map((files, index) => ({
    title: `${title} (${index})`,
    input: async () => ({ ...(await inputOf(files)), depth: 'plan' }),
  }))

export const CORPUS: readonly CorpusEntry[] = [
  entry('an object for a number', { hidden_size: TRAP }),
  ...quantized('an object for a kind of quantisation', { quant_method: TRAP }),
  ...quantized('an object for a layout', { checkpoint_format: TRAP, version: TRAP, format: TRAP }),
  ...quantized('objects for sizes', { bits: TRAP, group_size: TRAP, weight_block_size: [TRAP, TRAP] }),
  ...quantized('an object for groups', { config_groups: { all: { weights: { num_bits: TRAP } } } }),
]
