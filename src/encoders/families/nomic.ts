// nomic-bert: reads the configuration and the tensors of a BERT with rotated positions and gated feed-forward
// blocks, from safetensors and GGUF.
import type { ModelConfig } from '../../core/arch/config/config.ts'
import { Fields, unbuiltVariant } from '../../core/arch/config/fields.ts'
import { requireTensor, type Weights } from '../../core/arch/tensors/names.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import { BERT_TRAITS, type EncoderTraits, encoder } from '../encoder.ts'
import { gatherer } from './gather.ts'
import { checkRopes, checkSizes, type EncoderFamily, type Placed, UNTABLED } from './placed.ts'
import { ggufSizes } from './stated.ts'

const ARCHITECTURE = 'nomic-bert'

/**
 * Recognised by the class in safetensors, or by the type if no class is named; by the architecture in GGUF.
 */
function isNomic({ format, metadata, name }: ModelFile): boolean {
  if (format === 'gguf') return metadata.get('general.architecture') === ARCHITECTURE
  const fields = new Fields(name, (key) => metadata.get(key)).record('config') ?? Fields.of(name, {})
  const [listed] = fields.textList('architectures')
  return listed === undefined
    ? fields.text('model_type', '') === 'nomic_bert'
    : listed === 'NomicBertModel' || listed === 'NomicBertForMaskedLM'
}

function nomicConfig(file: ModelFile): Placed {
  const config = file.format === 'gguf' ? ggufConfig(file) : hfConfig(file)
  const types = requireTensor(
    file,
    file.format === 'gguf' ? 'token_types.weight' : 'embeddings.token_type_embeddings.weight',
  )
  const placed = { ...UNTABLED, config, types: types.shape[0] ?? 0 }
  checkSizes(file.name, placed)
  checkRopes(file.name, config)
  return placed
}

/** What the family's graph needs in addition to `config`. */
const SHARED = { family: 'nomic-bert', tiedEmbeddings: true, activation: 'silu' } as const

function ggufConfig(file: ModelFile): ModelConfig {
  const fields = new Fields(file.name, (key) => file.metadata.get(`${ARCHITECTURE}.${key}`))
  const sizes = ggufSizes(file, fields)
  return {
    ...SHARED,
    ...sizes,
    rope: { theta: fields.number('rope.freq_base', 10_000), dims: sizes.headDim, pairing: 'halves' },
  }
}

/** Flags that change the graph, and their required values. */
const FACTS: readonly (readonly [key: string, right: boolean])[] = [
  ['prenorm', false],
  ['parallel_block', false],
  ['use_rms_norm', false],
  ['causal', false],
  ['qkv_proj_bias', false],
  ['mlp_fc1_bias', false],
  ['mlp_fc2_bias', false],
  ['rotary_emb_interleaved', false],
]

/** Newer transformers files have the standard keys, Nomic's own files those of GPT-2. */
function hfConfig(file: ModelFile): ModelConfig {
  const all = new Fields(file.name, (key) => file.metadata.get(key))
  const fields = all.record('config') ?? Fields.of(file.name, {})
  const either = (own: string, usual: string, fallback: number) =>
    fields.number(own, fields.number(usual, fallback))
  for (const [key, right] of FACTS) {
    if (fields.fact(key, right) !== right)
      throw unbuiltVariant(file.name, `${key} ${!right}`, `${key} ${right}, as nomic-embed-text-v1.5`)
  }
  const activation = fields.text('activation_function', fields.text('hidden_act', 'swiglu'))
  if (activation !== 'swiglu' && activation !== 'silu')
    throw unbuiltVariant(file.name, `the activation "${activation}"`, 'swiglu')
  const stretch = fields.number('rotary_scaling_factor', 1)
  if (stretch !== 1) throw unbuiltVariant(file.name, `rotary_scaling_factor ${stretch}`, 'none')
  const heads = either('n_head', 'num_attention_heads', 12)
  const hiddenSize = either('n_embd', 'hidden_size', 768)
  const headDim = hiddenSize / heads
  const theta = fields.number(
    'rotary_emb_base',
    fields.record('rope_parameters')?.number('rope_theta', 1000) ?? 1000,
  )
  return {
    ...SHARED,
    name: file.name,
    hiddenSize,
    layers: either('n_layer', 'num_hidden_layers', 12),
    heads,
    kvHeads: heads,
    headDim,
    intermediateSize: either('n_inner', 'intermediate_size', 3072),
    vocabSize: fields.number('vocab_size', 30_528),
    normEpsilon: either('layer_norm_epsilon', 'layer_norm_eps', 1e-12),
    rope: { theta, dims: headDim * fields.number('rotary_emb_fraction', 1), pairing: 'halves' },
    contextLength: either('n_positions', 'max_position_embeddings', 2048),
  }
}

function nomicWeights(file: ModelFile, { config, types }: Placed): Weights {
  const { hiddenSize, vocabSize, intermediateSize, layers } = config
  const { put, split, finish } = gatherer(file)
  const norm = (name: string, gguf: string, safetensors: string) => {
    put(name, [gguf, safetensors], [hiddenSize])
    put(`${name}.bias`, [`${gguf}.bias`, `${safetensors}.bias`], [hiddenSize])
  }
  put('embed', ['token_embd', 'embeddings.word_embeddings'], [vocabSize, hiddenSize])
  put('kinds', ['token_types', 'embeddings.token_type_embeddings'], [types, hiddenSize])
  norm('embed_norm', 'token_embd_norm', 'emb_ln')
  const wide = [intermediateSize, hiddenSize]
  for (let layer = 0; layer < layers; layer++) {
    const at = `layers.${layer}`
    const names = (gguf: string, own: string) => [`blk.${layer}.${gguf}`, `encoder.${at}.${own}`] as const
    const parts = ['q', 'k', 'v'].map((part) => `${at}.attn_${part}`)
    split(parts, names('attn_qkv', 'attn.Wqkv'), [hiddenSize, hiddenSize])
    put(`${at}.attn_output`, names('attn_output', 'attn.out_proj'), [hiddenSize, hiddenSize])
    norm(`${at}.attn_post_norm`, ...names('attn_output_norm', 'norm1'))
    put(`${at}.mlp_up`, names('ffn_up', 'mlp.fc11'), wide)
    put(`${at}.mlp_gate`, names('ffn_gate', 'mlp.fc12'), wide)
    put(`${at}.mlp_down`, names('ffn_down', 'mlp.fc2'), wide.toReversed())
    norm(`${at}.mlp_post_norm`, ...names('layer_output_norm', 'norm2'))
  }
  return finish()
}

const TRAITS: EncoderTraits = { ...BERT_TRAITS, biases: 'norms', mlp: 'gated', positions: 'rope' }

/** transformers' NomicBertModel. */
export const NOMIC: EncoderFamily = {
  name: 'nomic-bert',
  isOf: isNomic,
  config: nomicConfig,
  weights: nomicWeights,
  graph: ({ config, types }) => encoder(config, types, TRAITS),
}
