// ModernBERT: reads the configuration and the tensors of a BERT with norms on inputs, gated blocks, and
// windows with their own RoPE base, from safetensors and GGUF.
import type { ModelConfig } from '../../core/arch/config/config.ts'
import type { Fields } from '../../core/arch/config/fields.ts'
import { fullRope, hfRope, localRope } from '../../core/arch/config/hf-rope.ts'
import type { Weights } from '../../core/arch/tensors/names.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import { type EncoderTraits, encoder } from '../encoder.ts'
import { gatherer } from './gather.ts'
import { checkedSizes, type EncoderFamily, type Placed } from './placed.ts'
import {
  activationOf,
  fieldsOf,
  ggufSizes,
  isGguf,
  isNamed,
  RANK,
  refuseOthers,
  windowLayers,
} from './stated.ts'

const ARCHITECTURE = 'modern-bert'
const RERANKER = 'ModernBertForSequenceClassification'
const LOCAL_THETA = 10_000

const TRAITS: EncoderTraits = {
  norm: 'layer',
  norms: 'before',
  embeddingNorm: true,
  biases: 'none',
  mlp: 'gated',
  positions: 'rope',
}

function modernConfig(file: ModelFile): Placed {
  const fields = fieldsOf(file, ARCHITECTURE)
  const config = isGguf(file) ? ggufConfig(file, fields) : hfConfig(file, fields)
  const isReranker = isGguf(file)
    ? fields.number('pooling_type', 0) === RANK
    : fields.textList('architectures')[0] === RERANKER
  return { ...checkedSizes(file.name, config), isReranker }
}

/** `width`: the window's width, including both sides. The first layer of each `period` has no window. */
function windowOf(fields: Fields, width: number, layers: number, key: string, period: number) {
  return {
    positions: Math.floor(width / 2) + 1,
    layers: windowLayers(fields, layers, key, (layer) => layer % period !== 0),
  }
}

function ggufConfig(file: ModelFile, fields: Fields): ModelConfig {
  const sizes = ggufSizes(file, fields)
  const key = 'attention.sliding_window_pattern'
  const theta = fields.number('rope.freq_base')
  const rope = { theta, dims: sizes.headDim, pairing: 'halves' } as const
  return {
    ...sizes,
    family: ARCHITECTURE,
    rope,
    localRope: { ...rope, theta: fields.number('rope.freq_base_swa', LOCAL_THETA) },
    window: windowOf(
      fields,
      fields.number('attention.sliding_window'),
      sizes.layers,
      key,
      fields.isList(key) ? 1 : fields.number(key, 3),
    ),
    activation: activationOf(fields, 'hidden_activation'),
  }
}

function hfConfig(file: ModelFile, fields: Fields): ModelConfig {
  refuseOthers(fields, { attention_bias: false, mlp_bias: false, norm_bias: false })
  const heads = fields.number('num_attention_heads', 12)
  const hiddenSize = fields.number('hidden_size', 768)
  const layers = fields.number('num_hidden_layers', 22)
  const sizes = {
    headDim: hiddenSize / heads,
    contextLength: fields.number('max_position_embeddings', 8192),
  }
  const theta = fields.number('global_rope_theta', 160_000)
  // If it is null, layers with a window use the global theta.
  const unset = file.metadata.get('unset')
  const isUnset = Array.isArray(unset) && unset.includes('local_rope_theta')
  const rope = hfRope(fields, fullRope(fields), sizes, theta)
  const common = {
    ...sizes,
    family: ARCHITECTURE,
    name: file.name,
    hiddenSize,
    layers,
    heads,
    kvHeads: heads,
    intermediateSize: fields.number('intermediate_size', 1152),
    vocabSize: fields.number('vocab_size', 50_368),
    normEpsilon: fields.number('norm_eps', 1e-5),
    rope,
    window: windowOf(
      fields,
      fields.number('local_attention', 128),
      layers,
      'layer_types',
      fields.number('global_attn_every_n_layers', 3),
    ),
    tiedEmbeddings: true,
    activation: activationOf(fields, 'hidden_activation'),
  }
  const own = fields.number('local_rope_theta', isUnset ? theta : LOCAL_THETA)
  return { ...common, localRope: localRope(fields, common, own) }
}

/** In files of classes with a head, the encoder's tensor names have this prefix. */
const prefixOf = ({ tensors }: ModelFile): string => (tensors.has('model.final_norm.weight') ? 'model.' : '')

function modernWeights(file: ModelFile, { config }: Placed): Weights {
  const { hiddenSize, intermediateSize, vocabSize, layers } = config
  const { put, split, finish } = gatherer(file, prefixOf(file))
  put('embed', ['token_embd', 'embeddings.tok_embeddings'], [vocabSize, hiddenSize])
  put('embed_norm', ['token_embd_norm', 'embeddings.norm'], [hiddenSize])
  for (let layer = 0; layer < layers; layer++) {
    const at = `layers.${layer}`
    const names = (gguf: string, own: string) => [`blk.${layer}.${gguf}`, `${at}.${own}`] as const
    const parts = (...all: readonly string[]) => all.map((part) => `${at}.${part}`)
    if (layer > 0) put(`${at}.attn_norm`, names('attn_norm', 'attn_norm'), [hiddenSize])
    split(parts('attn_q', 'attn_k', 'attn_v'), names('attn_qkv', 'attn.Wqkv'), [hiddenSize, hiddenSize])
    put(`${at}.attn_output`, names('attn_output', 'attn.Wo'), [hiddenSize, hiddenSize])
    put(`${at}.mlp_norm`, names('ffn_norm', 'mlp_norm'), [hiddenSize])
    split(parts('mlp_gate', 'mlp_up'), names('ffn_up', 'mlp.Wi'), [intermediateSize, hiddenSize])
    put(`${at}.mlp_down`, names('ffn_down', 'mlp.Wo'), [hiddenSize, intermediateSize])
  }
  put('norm', ['output_norm', 'final_norm'], [hiddenSize])
  return finish()
}

/** transformers' ModernBertModel. */
export const MODERN_BERT: EncoderFamily = {
  name: 'ModernBERT',
  isOf: (file) =>
    isNamed(file, ARCHITECTURE, /^ModernBertFor(MaskedLM|SequenceClassification)$|^ModernBertModel$/),
  config: modernConfig,
  weights: modernWeights,
  graph: ({ config }) => encoder(config, undefined, TRAITS),
}
