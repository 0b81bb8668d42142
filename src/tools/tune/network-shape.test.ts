// What the trainer computes. In: configurations. Out: their description for it, or an error that names what
// it lacks.
import { expect, test } from 'vitest'
import { readConfig } from '../../core/arch/read-config.ts'
import type { TensorInfo } from '../../core/formats/tensors.ts'
import { networkShape } from './network-shape.ts'

const COMMON = {
  ...{ hidden_size: 64, intermediate_size: 96, num_hidden_layers: 2, num_attention_heads: 4 },
  ...{ num_key_value_heads: 2, vocab_size: 300, max_position_embeddings: 128, rms_norm_eps: 1e-5 },
}

/** The configuration of a folder with this config.json. */
const read = (architecture: string, changes: object = {}) => {
  const table = { shape: [300, 64] } as unknown as TensorInfo
  return readConfig({
    name: 'it',
    format: 'safetensors',
    metadata: new Map([['config', { architectures: [architecture], ...COMMON, ...changes }]]),
    tensors: new Map([['model.embed_tokens.weight', table]]),
  })
}

test('a Llama has one rotation for all layers', async () => {
  const shape = networkShape(await read('LlamaForCausalLM', { rope_theta: 100 }))
  expect(shape).toMatchObject({ heads: 4, kvHeads: 2, headDim: 16, activation: 'silu', attentionScale: 0.25 })
  expect(shape.rotations).toHaveLength(1)
  expect(shape.rotations[0]?.frequencies[1]).toBeCloseTo(100 ** (-2 / 16), 12)
  expect([shape.localLayers, shape.windowLayers, shape.unrotatedLayers]).toEqual([[], [], []])
})

test('Gemma 3 has norms with an offset, a scaled embedding and a rotation for windows', async () => {
  const layer_types = ['sliding_attention', 'full_attention']
  const shape = networkShape(
    await read('Gemma3ForCausalLM', { layer_types, head_dim: 16, sliding_window: 20 }),
  )
  expect(shape).toMatchObject({ normOffset: 1, embeddingScale: 8, activation: 'gelu', window: 20 })
  expect([shape.localLayers, shape.windowLayers, shape.rotations.length]).toEqual([[0], [0], 2])
})

test.each([
  ['CohereForCausalLM', /it has the family cohere, which tune cannot train; give a model of llama, qwen2, /],
  ['MixtralForCausalLM', /it has experts, which tune cannot train/],
])('%s is rejected by name', async (architecture, message) => {
  const config = await read(architecture, { num_local_experts: 4, num_experts_per_tok: 2 })
  expect(() => networkShape(config)).toThrow(message)
})

test.each([
  [{ logitScale: 0.5 }, /factors of blocks or logits, which tune does not compute/],
  [{ attentionCap: 50 }, /a cap on attention scores/],
  [{ qkvLimit: 8 }, /clipped queries and keys/],
  [{ activation: 'relu2' }, /another activation/],
] as const)('a setting that the trainer lacks is named: %o', async (changes, message) => {
  const config = await read('LlamaForCausalLM')
  expect(() => networkShape({ ...config, ...changes })).toThrow(message)
})
