// Encoders with the layers of a decoder: Qwen3-Embedding, which pools the last token, and
// EmbeddingGemma, whose rows attend in both directions. From safetensors and GGUF.
import type { ModelConfig } from '../../core/arch/config/config.ts'
import { type Fields, unbuiltVariant } from '../../core/arch/config/fields.ts'
import { fullRope, hfRope, localRope } from '../../core/arch/config/hf-rope.ts'
import { requireTensor, type Weights } from '../../core/arch/tensors/names.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import { type EncoderTraits, encoder } from '../encoder.ts'
import { gatherer } from './gather.ts'
import { checkedSizes, type EncoderFamily, type Placed } from './placed.ts'
import { fieldsOf, isGguf, isNamed, refuseOthers, windowLayers } from './stated.ts'

const TRAITS: EncoderTraits = {
  norm: 'rms',
  norms: 'before',
  embeddingNorm: false,
  headNorms: true,
  biases: 'none',
  mlp: 'gated',
  positions: 'rope',
}

/** The keys of a configuration in GGUF and in config.json. */
const KEYS = {
  hiddenSize: ['embedding_length', 'hidden_size'],
  layers: ['block_count', 'num_hidden_layers'],
  heads: ['attention.head_count', 'num_attention_heads'],
  kvHeads: ['attention.head_count_kv', 'num_key_value_heads'],
  headDim: ['attention.key_length', 'head_dim'],
  intermediateSize: ['feed_forward_length', 'intermediate_size'],
  normEpsilon: ['attention.layer_norm_rms_epsilon', 'rms_norm_eps'],
  contextLength: ['context_length', 'max_position_embeddings'],
} as const

function refuseActivation(fields: Fields, key: string, right: string): void {
  const found = fields.text(key, right)
  if (found !== right) throw unbuiltVariant(fields.file, `the activation "${found}"`, right)
}

/** The settings that both families share. `theta`: RoPE's base if the file does not state it. */
function commonConfig(file: ModelFile, fields: Fields, family: string, theta: number): ModelConfig {
  const of = isGguf(file) ? 0 : 1
  const sizes = Object.fromEntries(
    Object.entries(KEYS).map(([name, keys]) => [name, fields.number(keys[of])]),
  ) as Record<keyof typeof KEYS, number>
  const scaling = isGguf(file) ? fields.text('rope.scaling.type', 'none') : 'none'
  if (scaling !== 'none') throw unbuiltVariant(file.name, `RoPE scaling "${scaling}"`, 'none')
  return {
    ...sizes,
    family,
    name: file.name,
    vocabSize: isGguf(file)
      ? (requireTensor(file, 'token_embd.weight').shape[0] ?? 0)
      : fields.number('vocab_size'),
    rope: isGguf(file)
      ? { theta: fields.number('rope.freq_base', theta), dims: sizes.headDim, pairing: 'halves' }
      : hfRope(fields, fullRope(fields), sizes, fields.number('rope_theta', theta)),
    tiedEmbeddings: true,
  }
}

/** Names of a layer's norms in GGUF and safetensors. */
type NormNames = Readonly<Record<string, readonly [gguf: string, safetensors: string]>>

/** `offset`: added to norm weights from safetensors. */
function bodyWeights(file: ModelFile, { config }: Placed, norms: NormNames, offset = 0): Weights {
  const { hiddenSize, heads, kvHeads, headDim, intermediateSize, vocabSize, layers } = config
  const prefix = file.tensors.has('model.embed_tokens.weight') ? 'model.' : ''
  const { put, finish } = gatherer(file, prefix)
  const change = offset === 0 || isGguf(file) ? undefined : { scale: 1, offset }
  const q = heads * headDim
  const kv = kvHeads * headDim
  const wide = intermediateSize
  put('embed', ['token_embd', 'embed_tokens'], [vocabSize, hiddenSize])
  for (let layer = 0; layer < layers; layer++) {
    const names = (gguf: string, own: string) => [`blk.${layer}.${gguf}`, `layers.${layer}.${own}`] as const
    const matrix = (name: string, gguf: string, own: string, n: number, k: number) =>
      put(`layers.${layer}.${name}`, names(gguf, own), [n, k])
    for (const [name, [gguf, own]] of Object.entries(norms))
      put(`layers.${layer}.${name}_norm`, names(gguf, own), [hiddenSize], change)
    for (const part of ['q', 'k']) {
      const both = names(`attn_${part}_norm`, `self_attn.${part}_norm`)
      put(`layers.${layer}.attn_${part}_norm`, both, [headDim], change)
    }
    matrix('attn_q', 'attn_q', 'self_attn.q_proj', q, hiddenSize)
    matrix('attn_k', 'attn_k', 'self_attn.k_proj', kv, hiddenSize)
    matrix('attn_v', 'attn_v', 'self_attn.v_proj', kv, hiddenSize)
    matrix('attn_output', 'attn_output', 'self_attn.o_proj', hiddenSize, q)
    matrix('mlp_gate', 'ffn_gate', 'mlp.gate_proj', wide, hiddenSize)
    matrix('mlp_up', 'ffn_up', 'mlp.up_proj', wide, hiddenSize)
    matrix('mlp_down', 'ffn_down', 'mlp.down_proj', hiddenSize, wide)
  }
  put('norm', ['output_norm', 'norm'], [hiddenSize], change)
  return finish()
}

/** Qwen3-Embedding: transformers' Qwen3Model. */
export const QWEN3: EncoderFamily = {
  name: 'Qwen3-Embedding',
  isDecoder: true,
  isOf: (file) => isNamed(file, 'qwen3', /^Qwen3(ForCausalLM|Model)$/),
  config(file) {
    const fields = fieldsOf(file, 'qwen3')
    refuseOthers(fields, { use_sliding_window: false, attention_bias: false, is_causal: true })
    refuseActivation(fields, 'hidden_act', 'silu')
    return checkedSizes(file.name, { ...commonConfig(file, fields, 'qwen3', 1e6), activation: 'silu' })
  },
  weights: (file, placed) =>
    bodyWeights(file, placed, {
      attn: ['attn_norm', 'input_layernorm'],
      mlp: ['ffn_norm', 'post_attention_layernorm'],
    }),
  graph: ({ config }) => encoder(config, undefined, { ...TRAITS, isCausal: true }),
}

function gemmaConfig(file: ModelFile): Placed {
  const fields = fieldsOf(file, GEMMA_ARCHITECTURE)
  const common = commonConfig(file, fields, 'gemma3', 1e6)
  const isInGguf = isGguf(file)
  if (!isInGguf) {
    refuseOthers(fields, { attention_bias: false })
    refuseActivation(fields, 'hidden_activation', 'gelu_pytorch_tanh')
    if (!fields.fact('use_bidirectional_attention', false))
      throw unbuiltVariant(file.name, 'attention to earlier positions only', 'attention to both sides')
  }
  const window = fields.number(isInGguf ? 'attention.sliding_window' : 'sliding_window')
  const [key, period] = isInGguf
    ? ['attention.sliding_window_pattern', 'attention.sliding_window_pattern']
    : ['layer_types', '_sliding_window_pattern']
  const every = fields.isList(period) ? 0 : fields.number(period, 6)
  return checkedSizes(file.name, {
    ...common,
    activation: 'gelu',
    embeddingScale: Math.sqrt(common.hiddenSize),
    attentionScale: 1 / Math.sqrt(isInGguf ? common.headDim : fields.number('query_pre_attn_scalar', 256)),
    // Half of the window on each side, and the row itself.
    window: {
      positions: Math.floor(window / 2) + 1,
      layers: windowLayers(fields, common.layers, key, (layer) => layer % every < every - 1),
    },
    localRope: isInGguf
      ? { ...common.rope, theta: fields.number('rope.freq_base_swa', 10_000) }
      : localRope(fields, common, fields.number('rope_local_base_freq', 10_000)),
  })
}

const GEMMA_ARCHITECTURE = 'gemma-embedding'

/** EmbeddingGemma: transformers' Gemma3TextModel with bidirectional attention. */
export const GEMMA: EncoderFamily = {
  name: 'EmbeddingGemma',
  isDecoder: true,
  isOf: (file) => isNamed(file, GEMMA_ARCHITECTURE, /^Gemma3TextModel$/),
  config: gemmaConfig,
  weights: (file, placed) =>
    bodyWeights(
      file,
      placed,
      {
        attn: ['attn_norm', 'input_layernorm'],
        attn_post: ['post_attention_norm', 'post_attention_layernorm'],
        mlp: ['ffn_norm', 'pre_feedforward_layernorm'],
        mlp_post: ['post_ffw_norm', 'post_feedforward_layernorm'],
      },
      1,
    ),
  graph: ({ config }) => encoder(config, undefined, { ...TRAITS, norms: 'around' }),
}
