// Past findings: configurations.
import { FAMILY_CASES } from '../../conformance/testing/families/family-cases.ts'
import type { CorpusEntry } from '../corpus.ts'
import { tinyLlama } from '../models.ts'
import { TRAP } from './values.ts'

const llama = tinyLlama()
const shapes = JSON.stringify(
  Object.fromEntries([...llama.weights].map(([name, { shape }]) => [name, shape])),
)

const entry = (title: string, format: string, config: object): CorpusEntry => ({
  title,
  input: () => ({ format, family: 'any', config: JSON.stringify(config), shapes, depth: 'plan' }),
})
const hf = (title: string, changes: object) => entry(title, 'safetensors', { ...llama.config, ...changes })
const own = { family: 'llama', name: 'x', hiddenSize: 32, layers: 1, heads: 2, kvHeads: 1, headDim: 16 }
const configOf = (name: string): object => FAMILY_CASES.find(({ family }) => family === name)?.config ?? {}

export const CORPUS: readonly CorpusEntry[] = [
  hf('an object for a number', { hidden_size: TRAP }),
  hf('an object for an architecture', { architectures: [TRAP] }),
  hf('an object for a property', { tie_word_embeddings: TRAP }),
  hf('an object for a kind of scaling', { rope_scaling: { rope_type: TRAP, factor: 2 } }),
  hf('objects for the factors of longrope', {
    rope_scaling: { rope_type: 'longrope', short_factor: [TRAP], long_factor: [[TRAP]] },
  }),
  entry('objects for kinds of layers', 'safetensors', { ...configOf('lfm2'), layer_types: [TRAP, TRAP] }),
  entry('an object for an expert count', 'safetensors', { ...configOf('qwen3moe'), num_experts: TRAP }),
  hf('an object for an activation', { hidden_act: TRAP }),
  hf('an infinite number as transformers writes it', { rms_norm_eps: { __float__: 'Infinity' } }),
  entry('an object in a pack', 'hbm', { ...own, hiddenSize: TRAP }),
  entry('an object for a family in a pack', 'hbm', { ...own, family: TRAP }),
  entry('objects for a pack\u2019s layers', 'hbm', { ...own, window: { size: 8, layers: [TRAP] } }),
  entry('an object for a pack\u2019s scaling', 'hbm', {
    ...own,
    rope: { theta: 1, dims: 16, pairing: TRAP, scaling: { type: TRAP } },
  }),
  {
    title: 'lists in lists, 20,000 deep',
    input: () => ({
      format: 'safetensors',
      config: `{"architectures":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
      shapes,
      depth: 'config',
    }),
  },
]
