// Cases of dense families that differ from Llama in a trait or two, with the tensors that their transformers
// classes store. This file defines the GGUF names and the changes that llama.cpp's converter makes.

import { hfClass, hfConfig } from '../../../../src/core/arch/config/config-hf.ts'
import { Fields } from '../../../../src/core/arch/config/fields.ts'
import { familyFile, findFamily } from '../../../../src/core/arch/families.ts'
import { expectedTensors } from '../../../../src/core/arch/tensors/tensor-names.ts'
import type { MetaValue } from '../../../../src/core/formats/tensors.ts'
import {
  type CaseTensor,
  type FamilyCase,
  f32,
  familyParts,
  type Kind,
  ORIGINAL,
  type Sizes,
  THETA,
  t,
  u32,
  WINDOW,
  window,
} from './family-tensors.ts'

type Gguf = Omit<FamilyCase['gguf'], 'architecture'>
type Json = Readonly<Record<string, unknown>>

/** A case with the tensors that its class stores. */
export interface StoredCase {
  readonly family: string
  /** The class. Default: the family's first. */
  readonly listed?: string
  readonly layers: number
  /** Keys of config.json in addition to the sizes. */
  readonly config: Json
  /** Tensors that the graph ignores. */
  readonly extra?: readonly CaseTensor[]
  readonly gguf: Gguf
}

const POST_NORMS = [
  ['post_attention_layernorm', 'post_attention_norm'],
  ['post_feedforward_layernorm', 'post_ffw_norm'],
] as const
const LAYER_NORM = { layerNorm: true } as const

/** The parameters of one layer's xIELU, as files store them. */
const XIELU = { alpha_p: 0.3, alpha_n: -0.4, beta: 0.5, eps: -1e-6 }

const FALCON = [
  ['transformer.h', 'blk'],
  ['transformer.word_embeddings', 'token_embd'],
  ['transformer.ln_f', 'output_norm'],
  ['self_attention.query_key_value', 'attn_qkv'],
  ['self_attention.dense', 'attn_output'],
  ['mlp.dense_h_to_4h', 'ffn_up'],
  ['mlp.dense_4h_to_h', 'ffn_down'],
] as const

/** The classes used in the pruning papers. Their heads together are as wide as the rows. */
const classicCases = ({ hidden, heads }: Sizes): readonly StoredCase[] => [
  {
    family: 'bloom',
    layers: 2,
    config: { layer_norm_epsilon: 1e-5, hidden_act: undefined },
    gguf: {
      keys: { feed_forward_length: u32(4 * hidden), 'attention.head_count_kv': u32(heads) },
      names: [['transformer.word_embeddings_layernorm', 'token_embd_norm'], ...FALCON],
      ...LAYER_NORM,
    },
  },
  {
    family: 'mpt',
    layers: 2,
    config: { layer_norm_epsilon: 1e-5, hidden_act: undefined, attn_config: { clip_qkv: 0.7 } },
    gguf: {
      keys: {
        feed_forward_length: u32(4 * hidden),
        'attention.head_count_kv': u32(heads),
        'attention.max_alibi_bias': f32(8),
        'attention.clamp_kqv': f32(0.7),
      },
      names: [
        ['transformer.blocks', 'blk'],
        ['transformer.wte', 'token_embd'],
        ['transformer.norm_f', 'output_norm'],
        ['attn.Wqkv', 'attn_qkv'],
        ['attn.out_proj', 'attn_output'],
        ['ffn.up_proj', 'ffn_up'],
        ['ffn.down_proj', 'ffn_down'],
        ['norm_1', 'attn_norm'],
        ['norm_2', 'ffn_norm'],
      ],
      ...LAYER_NORM,
    },
  },
  {
    family: 'falcon',
    layers: 2,
    config: {
      layer_norm_epsilon: 1e-5,
      hidden_act: undefined,
      new_decoder_architecture: true,
      num_kv_heads: 2,
      ffn_hidden_size: 80,
    },
    gguf: {
      keys: { feed_forward_length: u32(80), 'attention.head_count_kv': u32(2) },
      names: [['ln_attn', 'attn_norm_2'], ['ln_mlp', 'attn_norm'], ...FALCON],
      ...LAYER_NORM,
    },
  },
]

const casesOf = ({ headDim }: Sizes): readonly StoredCase[] => [
  {
    family: 'bitnet',
    layers: 2,
    config: { hidden_act: 'silu', tie_word_embeddings: true },
    gguf: {
      keys: {},
      names: [
        ['self_attn.attn_sub_norm', 'attn_sub_norm'],
        ['mlp.ffn_sub_norm', 'ffn_sub_norm'],
      ],
    },
  },
  { family: 'gemma', layers: 2, config: { tie_word_embeddings: true }, gguf: { keys: {} } },
  {
    family: 'mistral3',
    layers: 2,
    config: {
      rope_parameters: {
        rope_type: 'yarn',
        rope_theta: THETA,
        factor: 4,
        original_max_position_embeddings: ORIGINAL,
        mscale: 1,
        mscale_all_dim: 1,
        llama_4_scaling_beta: 0.3,
      },
    },
    gguf: {
      keys: {
        'rope.scaling.type': ['string', 'yarn'],
        'rope.scaling.factor': f32(4),
        'rope.scaling.original_context_length': u32(ORIGINAL),
        'rope.scaling.yarn_log_multiplier': f32(1),
        'attention.temperature_scale': f32(0.3),
      },
      interleaved: true,
    },
  },
  {
    family: 'exaone',
    layers: 2,
    config: { num_layers: 2, layer_norm_epsilon: 1e-5 },
    gguf: {
      keys: {},
      names: [
        ['transformer.h.', 'blk.'],
        ['transformer.wte', 'token_embd'],
        ['transformer.ln_f', 'output_norm'],
        ['.ln_1.', '.attn_norm.'],
        ['.ln_2.', '.ffn_norm.'],
        [/attn\.attention\.([qkv])_proj/, 'attn_$1'],
        ['attn.attention.out_proj', 'attn_output'],
        ['mlp.c_fc_0', 'ffn_gate'],
        ['mlp.c_fc_1', 'ffn_up'],
        ['mlp.c_proj', 'ffn_down'],
      ],
    },
  },
  // llama.cpp applies EXAONE 4's windows only in models of 64 layers.
  { family: 'exaone4', layers: 2, config: { sliding_window: null }, gguf: { keys: {}, names: POST_NORMS } },
  {
    family: 'cohere',
    layers: 2,
    config: { tie_word_embeddings: true, logit_scale: 0.4, layer_norm_eps: 1e-5 },
    gguf: { keys: { logit_scale: f32(0.4) }, ...LAYER_NORM },
  },
  {
    family: 'cohere2',
    layers: 5,
    config: {
      tie_word_embeddings: true,
      logit_scale: 0.4,
      layer_norm_eps: 1e-5,
      sliding_window: WINDOW,
      sliding_window_pattern: 4,
    },
    gguf: { keys: { ...window, logit_scale: f32(0.4) }, ...LAYER_NORM },
  },
  {
    family: 'glm',
    layers: 2,
    config: {},
    gguf: { keys: { 'rope.dimension_count': u32(headDim / 2) }, names: [['mlp.gate_up_proj', 'ffn_up']] },
  },
  {
    family: 'glm4',
    layers: 2,
    config: {},
    gguf: {
      keys: { 'rope.dimension_count': u32(headDim / 2) },
      names: [
        ['mlp.gate_up_proj', 'ffn_up'],
        ['post_attention_layernorm', 'ffn_norm'],
        ['post_self_attn_layernorm', 'post_attention_norm'],
        ['post_mlp_layernorm', 'post_ffw_norm'],
      ],
    },
  },
  {
    family: 'stablelm',
    layers: 2,
    config: { use_qkv_bias: true, use_parallel_residual: true, qk_layernorm: true, layer_norm_eps: 1e-5 },
    gguf: {
      keys: { 'rope.dimension_count': u32(headDim / 4), use_parallel_residual: ['bool', true] },
      ...LAYER_NORM,
    },
  },
  {
    family: 'starcoder2',
    layers: 2,
    config: { tie_word_embeddings: true, norm_epsilon: 1e-5 },
    gguf: {
      keys: {},
      names: [
        ['mlp.c_fc', 'ffn_up'],
        ['mlp.c_proj', 'ffn_down'],
      ],
      ...LAYER_NORM,
    },
  },
  {
    family: 'phi2',
    layers: 2,
    config: { layer_norm_eps: 1e-5 },
    gguf: {
      keys: { 'rope.dimension_count': u32(headDim / 2) },
      names: [
        ['self_attn.dense', 'attn_output'],
        ['mlp.fc1', 'ffn_up'],
        ['mlp.fc2', 'ffn_down'],
        ['model.final_layernorm', 'output_norm'],
      ],
      ...LAYER_NORM,
    },
  },
  {
    family: 'olmo',
    layers: 2,
    config: { clip_qkv: 0.7 },
    gguf: { keys: { 'attention.clamp_kqv': f32(0.7) }, interleaved: true, ...LAYER_NORM },
  },
  {
    family: 'nemotron',
    layers: 2,
    config: { norm_eps: 1e-5 },
    gguf: { keys: { 'rope.dimension_count': u32(headDim / 2) }, ...LAYER_NORM },
  },
  { family: 'jais2', layers: 2, config: { layer_norm_eps: 1e-5 }, gguf: { keys: {}, ...LAYER_NORM } },
  { family: 'arcee', layers: 2, config: {}, gguf: { keys: {}, interleaved: true } },
  {
    family: 'apertus',
    layers: 2,
    config: {},
    gguf: {
      keys: Object.fromEntries(
        Object.entries(XIELU).map(([name, value]) => [`xielu.${name}`, ['f32[]', [value, value]]]),
      ),
      names: [
        ['attention_layernorm', 'attn_norm'],
        ['feedforward_layernorm', 'ffn_norm'],
      ],
    },
  },
  {
    family: 'seed_oss',
    layers: 2,
    config: {},
    gguf: { keys: {}, names: [['post_attention_layernorm', 'post_attention_norm']] },
  },
  { family: 'ernie4_5', layers: 2, config: { tie_word_embeddings: true }, gguf: { keys: {} } },
  {
    family: 'hunyuan',
    layers: 2,
    config: {},
    gguf: {
      keys: {},
      names: [
        ['query_layernorm', 'q_norm'],
        ['key_layernorm', 'k_norm'],
      ],
    },
  },
]

/** Every tensor of the class's file. */
function tensorsOf(json: Json): CaseTensor[] {
  const stated = Object.entries(json).filter(([, value]) => value !== null)
  const unset = Object.keys(json).filter((key) => json[key] === null)
  const fields = Fields.of('case', Object.fromEntries(stated) as Record<string, MetaValue>)
  const family = findFamily(({ hf }) => Object.hasOwn(hf.classes, hfClass(fields))) as string
  const config = hfConfig('case', fields, { family, unset })
  const found = new Map<string, CaseTensor>()
  for (const { name, shape, place } of expectedTensors('safetensors', config)) {
    if (place.constant !== undefined) continue
    const [first = ''] = place.tensor.split('|')
    const parts = place.joined ?? [first]
    const own = place.shape ?? (place.joined ? [(shape[0] ?? 0) / parts.length] : shape)
    const isTurned = place.form === 'transposed'
    const size = isTurned ? [...own.slice(0, -2), ...own.slice(-2).toReversed()] : own
    for (const part of parts) found.set(part, t(part, size, kindOf(name, place.change?.offset === 1)))
  }
  return [...found.values()]
}

function kindOf(name: string, isLessOne: boolean): Kind {
  if (name.endsWith('.bias')) return 'bias'
  if (/norm\.weight$/.test(name)) return isLessOne ? 'norm less one' : 'norm'
  return /^(embed|output)\./.test(name) ? 'table' : 'matrix'
}

const curveTensors = (layers: number): CaseTensor[] =>
  Array.from({ length: layers }, (_, layer) =>
    Object.entries(XIELU).map(([name, value]) => ({
      ...t(`model.layers.${layer}.mlp.act_fn.${name}`, [1]),
      value,
    })),
  ).flat()

export const denseCases = (sizes: Sizes): Omit<FamilyCase, 'sizes'>[] =>
  storedCases([...casesOf(sizes), ...classicCases(sizes)], sizes)

export const storedCases = (cases: readonly StoredCase[], sizes: Sizes): Omit<FamilyCase, 'sizes'>[] =>
  cases.map(({ family, listed, layers, config: more, extra: own = [], gguf }) => {
    const { hf, gguf: file } = familyFile(family)
    const [named = ''] = Object.keys(hf.classes)
    const config = familyParts(sizes).config(listed ?? named, layers, more)
    const extra = family === 'apertus' ? curveTensors(layers) : own
    return {
      family,
      config,
      tensors: [...tensorsOf(config), ...extra],
      gguf: { architecture: file.architecture ?? family, ...gguf },
    }
  })
