// Tensors of families. The tensors of small models under Hugging Face's names, by block type.
import type { HeadNormTrait } from '../../../../src/core/arch/blocks/parts.ts'
import { byteLevelSpec } from '../../../../src/core/text/testing/tiny.ts'
import type { GgufValue } from '../writers/gguf-writer.ts'
import type { RandomTensor } from '../writers/random-tensor.ts'

/** The distribution of a tensor's values. */
export type Kind = 'matrix' | 'table' | 'norm' | 'norm less one' | 'bias' | 'taps'

export interface CaseTensor {
  readonly name: string
  /** Outermost first. */
  readonly shape: readonly number[]
  readonly kind: Kind
  /** All values. Default: random. */
  readonly value?: number
}

export interface FamilyCase {
  readonly sizes: Sizes
  /** The engine's name for the tensor. */
  readonly family: string
  readonly config: Readonly<Record<string, unknown>>
  readonly tensors: readonly CaseTensor[]
  readonly gguf: {
    readonly architecture: string
    /** Without the architecture prefix. */
    readonly keys: Readonly<Record<string, GgufValue>>
    /** Replacements in names, applied in this order before the common ones. */
    readonly names?: readonly (readonly [string | RegExp, string])[]
    /** Whether the converter reorders the rows of Q and K. */
    readonly interleaved?: boolean
    readonly layerNorm?: boolean
    /** The converter's changes to a tensor's values, before those that several families share. */
    readonly convert?: (name: string, tensor: RandomTensor) => RandomTensor
    readonly pieces?: Pieces
    /** Vectors that exist only in GGUF. */
    readonly vectors?: Readonly<Record<string, readonly number[]>>
  }
}

/** The converter's changes to a tensor, by name; undefined for a tensor that it does not change. */
export type Pieces = (
  name: string,
  tensor: RandomTensor,
) => readonly (readonly [string, RandomTensor])[] | undefined

/** `hidden` is the size of all heads together. */
export interface Sizes {
  readonly hidden: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  /** Inner size of the feed-forward block. */
  readonly wide: number
  readonly context: number
}
export const VOCABULARY = byteLevelSpec().tokens.length
/** Shorter than the 64 compared positions. */
export const WINDOW = 20
export const THETA = 5000

export const t = (name: string, shape: readonly number[], kind: Kind = 'matrix'): CaseTensor => ({
  name,
  shape,
  kind,
})

interface Blocks {
  readonly norm?: Kind
  /** Names of norms over the whole hidden size in a layer. */
  readonly norms?: readonly string[]
  readonly headNorms?: HeadNormTrait
  readonly mlp?: (at: string) => CaseTensor[]
  readonly tied?: boolean
}

export const SANDWICH = [
  'input_layernorm',
  'post_attention_layernorm',
  'pre_feedforward_layernorm',
  'post_feedforward_layernorm',
]

export const SANDWICH_NAMES = [
  ['post_attention_layernorm', 'post_attention_norm'],
  ['pre_feedforward_layernorm', 'ffn_norm'],
  ['post_feedforward_layernorm', 'post_ffw_norm'],
] as const

export const gemma = {
  hidden_activation: 'gelu_pytorch_tanh',
  sliding_window: WINDOW,
  tie_word_embeddings: true,
}

export const u32 = (value: number): GgufValue => ['u32', value]
export const f32 = (value: number): GgufValue => ['f32', value]

export const window = { 'attention.sliding_window': ['u32', WINDOW] } as const

export const ORIGINAL = 32

export const each = (layers: number, at: string, layer: (at: string) => CaseTensor[]) =>
  Array.from({ length: layers }, (_, index) => layer(`${at}.${index}`)).flat()

export const GPT_NAMES = [
  ['transformer.h.', 'blk.'],
  ['gpt_neox.layers.', 'blk.'],
  ['.ln_1.', '.attn_norm.'],
  ['.ln_2.', '.ffn_norm.'],
  ['.input_layernorm.', '.attn_norm.'],
  ['.post_attention_layernorm.', '.ffn_norm.'],
  [/\.attn\.c_attn\.|\.attention\.query_key_value\./, '.attn_qkv.'],
  [/\.attn\.c_proj\.|\.attention\.dense\./, '.attn_output.'],
  [/\.mlp\.c_fc\.|\.mlp\.dense_h_to_4h\./, '.ffn_up.'],
  [/\.mlp\.c_proj\.|\.mlp\.dense_4h_to_h\./, '.ffn_down.'],
  [/^transformer\.wte|^gpt_neox\.embed_in/, 'token_embd'],
  ['transformer.wpe', 'position_embd'],
  [/^transformer\.ln_f|^gpt_neox\.final_layer_norm/, 'output_norm'],
  ['embed_out', 'output'],
] as const

/** Building blocks for models of these sizes. */
export function familyParts({ hidden, heads, kvHeads, headDim, wide, context }: Sizes) {
  const config = (architecture: string, layers: number, more: Readonly<Record<string, unknown>> = {}) => ({
    architectures: [architecture],
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    intermediate_size: wide,
    vocab_size: VOCABULARY,
    max_position_embeddings: context,
    rms_norm_eps: 1e-5,
    rope_theta: THETA,
    tie_word_embeddings: false,
    ...more,
  })

  const gatedMlp = (at: string): CaseTensor[] => [
    t(`${at}.mlp.gate_proj.weight`, [wide, hidden]),
    t(`${at}.mlp.up_proj.weight`, [wide, hidden]),
    t(`${at}.mlp.down_proj.weight`, [hidden, wide]),
  ]

  /** Llama's tensors, with a family's additions and replacements. */
  function blocks(layers: number, options: Blocks = {}): CaseTensor[] {
    const { norm = 'norm', norms = ['input_layernorm', 'post_attention_layernorm'], headNorms } = options
    const q = heads * headDim
    const kv = kvHeads * headDim
    const layer = (at: string): CaseTensor[] => [
      ...norms.map((name) => t(`${at}.${name}.weight`, [hidden], norm)),
      t(`${at}.self_attn.q_proj.weight`, [q, hidden]),
      t(`${at}.self_attn.k_proj.weight`, [kv, hidden]),
      t(`${at}.self_attn.v_proj.weight`, [kv, hidden]),
      t(`${at}.self_attn.o_proj.weight`, [hidden, q]),
      ...(headNorms === undefined
        ? []
        : [
            t(`${at}.self_attn.q_norm.weight`, [headNorms === 'head' ? headDim : q], norm),
            t(`${at}.self_attn.k_norm.weight`, [headNorms === 'head' ? headDim : kv], norm),
          ]),
      ...(options.mlp ?? gatedMlp)(at),
    ]
    return [
      t('model.embed_tokens.weight', [VOCABULARY, hidden], 'table'),
      ...Array.from({ length: layers }, (_, index) => layer(`model.layers.${index}`)).flat(),
      t('model.norm.weight', [hidden], norm),
      ...(options.tied === true ? [] : [t('lm_head.weight', [VOCABULARY, hidden], 'table')]),
    ]
  }

  const experts =
    (count: number) =>
    (at: string): CaseTensor[] => [
      t(`${at}.mlp.gate.weight`, [count, hidden]),
      ...Array.from({ length: count }, (_, expert) => {
        const each = `${at}.mlp.experts.${expert}`
        return [
          t(`${each}.gate_proj.weight`, [wide, hidden]),
          t(`${each}.up_proj.weight`, [wide, hidden]),
          t(`${each}.down_proj.weight`, [hidden, wide]),
        ]
      }).flat(),
    ]

  function phi3Layer(at: string): CaseTensor[] {
    return [
      t(`${at}.input_layernorm.weight`, [hidden], 'norm'),
      t(`${at}.post_attention_layernorm.weight`, [hidden], 'norm'),
      t(`${at}.self_attn.qkv_proj.weight`, [(heads + 2 * kvHeads) * headDim, hidden]),
      t(`${at}.self_attn.o_proj.weight`, [hidden, heads * headDim]),
      t(`${at}.mlp.gate_up_proj.weight`, [2 * wide, hidden]),
      t(`${at}.mlp.down_proj.weight`, [hidden, wide]),
    ]
  }

  /** LongRoPE's divisors, far enough apart that using the wrong ones changes the logits. */
  const factors = (from: number) => Array.from({ length: headDim / 2 }, (_, pair) => from + pair / 4)
  const magnitude = Math.sqrt(1 + Math.log(context / ORIGINAL) / Math.log(ORIGINAL))

  function gpt2Layer(at: string): CaseTensor[] {
    const both = (name: string, [k, n]: readonly [number, number]) => [
      t(`${at}.${name}.weight`, [k, n]),
      t(`${at}.${name}.bias`, [n], 'bias'),
    ]
    const norm = (name: string) => [
      t(`${at}.${name}.weight`, [hidden], 'norm'),
      t(`${at}.${name}.bias`, [hidden], 'bias'),
    ]
    return [
      ...norm('ln_1'),
      ...both('attn.c_attn', [hidden, 3 * hidden]),
      ...both('attn.c_proj', [hidden, hidden]),
      ...norm('ln_2'),
      ...both('mlp.c_fc', [hidden, wide]),
      ...both('mlp.c_proj', [wide, hidden]),
    ]
  }

  function neoxLayer(at: string): CaseTensor[] {
    const both = (name: string, n: number, k?: number) => [
      t(`${at}.${name}.weight`, k === undefined ? [n] : [n, k], k === undefined ? 'norm' : 'matrix'),
      t(`${at}.${name}.bias`, [n], 'bias'),
    ]
    return [
      ...both('input_layernorm', hidden),
      ...both('attention.query_key_value', 3 * hidden, hidden),
      ...both('attention.dense', hidden, hidden),
      ...both('post_attention_layernorm', hidden),
      ...both('mlp.dense_h_to_4h', wide, hidden),
      ...both('mlp.dense_4h_to_h', hidden, wide),
    ]
  }

  const lfm2Layer = (isAttention: boolean) => (at: string) => {
    const q = heads * headDim
    const kv = kvHeads * headDim
    const mixer = isAttention
      ? [
          t(`${at}.self_attn.q_proj.weight`, [q, hidden]),
          t(`${at}.self_attn.k_proj.weight`, [kv, hidden]),
          t(`${at}.self_attn.v_proj.weight`, [kv, hidden]),
          t(`${at}.self_attn.out_proj.weight`, [hidden, q]),
          t(`${at}.self_attn.q_layernorm.weight`, [headDim], 'norm'),
          t(`${at}.self_attn.k_layernorm.weight`, [headDim], 'norm'),
        ]
      : [
          t(`${at}.conv.in_proj.weight`, [3 * hidden, hidden]),
          t(`${at}.conv.conv.weight`, [hidden, 1, 3], 'taps'),
          t(`${at}.conv.out_proj.weight`, [hidden, hidden]),
        ]
    return [
      t(`${at}.operator_norm.weight`, [hidden], 'norm'),
      ...mixer,
      t(`${at}.ffn_norm.weight`, [hidden], 'norm'),
      t(`${at}.feed_forward.w1.weight`, [wide, hidden]),
      t(`${at}.feed_forward.w3.weight`, [wide, hidden]),
      t(`${at}.feed_forward.w2.weight`, [hidden, wide]),
    ]
  }
  return { config, blocks, experts, phi3Layer, factors, magnitude, gpt2Layer, neoxLayer, lfm2Layer }
}
