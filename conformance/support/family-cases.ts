// Family cases. In: nothing. Out: a small model of each family: config.json and tensors in Hugging Face's words, keys in GGUF's.
import { byteLevelSpec } from '../../src/text/test/tiny.ts'
import type { GgufValue } from './gguf-writer.ts'

/** How the numbers of a tensor are drawn. */
export type Kind = 'matrix' | 'table' | 'norm' | 'norm less one' | 'bias' | 'taps'

export interface CaseTensor {
  readonly name: string
  /** Outermost first. */
  readonly shape: readonly number[]
  readonly kind: Kind
}

export interface FamilyCase {
  /** As the engine calls it. */
  readonly family: string
  readonly config: Readonly<Record<string, unknown>>
  readonly tensors: readonly CaseTensor[]
  readonly gguf: {
    readonly architecture: string
    /** Without the architecture's prefix. */
    readonly keys: Readonly<Record<string, GgufValue>>
    /** Replaced in names, in this order, before the common ones. */
    readonly names?: readonly (readonly [string | RegExp, string])[]
    /** The converter reorders the rows of Q and K. */
    readonly interleaved?: boolean
    readonly layerNorm?: boolean
  }
}

export const SIZES = { hidden: 64, heads: 4, kvHeads: 2, headDim: 16, wide: 96, context: 128 } as const
const { hidden, heads, kvHeads, headDim, wide, context } = SIZES
export const VOCABULARY = byteLevelSpec().tokens.length
/** Shorter than the 64 positions that are compared. */
const WINDOW = 20
const THETA = 5000

const t = (name: string, shape: readonly number[], kind: Kind = 'matrix'): CaseTensor => ({
  name,
  shape,
  kind,
})

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

interface Blocks {
  readonly norm?: Kind
  /** Norms of the whole hidden size in a layer. */
  readonly norms?: readonly string[]
  readonly headNorms?: 'head' | 'row'
  readonly mlp?: (at: string) => CaseTensor[]
  readonly tied?: boolean
}

const gatedMlp = (at: string): CaseTensor[] => [
  t(`${at}.mlp.gate_proj.weight`, [wide, hidden]),
  t(`${at}.mlp.up_proj.weight`, [wide, hidden]),
  t(`${at}.mlp.down_proj.weight`, [hidden, wide]),
]

/** Llama's tensors, and what a family has beside or instead. */
function blocks(layers: number, options: Blocks = {}): CaseTensor[] {
  const { norm = 'norm', norms = ['input_layernorm', 'post_attention_layernorm'], headNorms } = options
  const [q, kv] = [heads * headDim, kvHeads * headDim]
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

const SANDWICH = [
  'input_layernorm',
  'post_attention_layernorm',
  'pre_feedforward_layernorm',
  'post_feedforward_layernorm',
]
const SANDWICH_NAMES = [
  ['post_attention_layernorm', 'post_attention_norm'],
  ['pre_feedforward_layernorm', 'ffn_norm'],
  ['post_feedforward_layernorm', 'post_ffw_norm'],
] as const

const gemma = { hidden_activation: 'gelu_pytorch_tanh', sliding_window: WINDOW, tie_word_embeddings: true }
const window = { 'attention.sliding_window': ['u32', WINDOW] } as const

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

/** LongRoPE's divisors, far enough apart that taking the wrong ones shows. */
const factors = (from: number) => Array.from({ length: headDim / 2 }, (_, pair) => from + pair / 4)
const ORIGINAL = 32
const MAGNITUDE = Math.sqrt(1 + Math.log(context / ORIGINAL) / Math.log(ORIGINAL))

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

const each = (layers: number, at: string, layer: (at: string) => CaseTensor[]) =>
  Array.from({ length: layers }, (_, index) => layer(`${at}.${index}`)).flat()

const GPT_NAMES = [
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

const lfm2Layer = (isAttention: boolean) => (at: string) => {
  const [q, kv] = [heads * headDim, kvHeads * headDim]
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

export const FAMILY_CASES: readonly FamilyCase[] = [
  {
    family: 'qwen3',
    config: config('Qwen3ForCausalLM', 2),
    tensors: blocks(2, { headNorms: 'head' }),
    gguf: { architecture: 'qwen3', keys: {} },
  },
  {
    family: 'gemma2',
    config: config('Gemma2ForCausalLM', 3, {
      ...gemma,
      ...{ query_pre_attn_scalar: headDim, attn_logit_softcapping: 2, final_logit_softcapping: 3 },
    }),
    tensors: blocks(3, { norm: 'norm less one', norms: SANDWICH, tied: true }),
    gguf: {
      architecture: 'gemma2',
      keys: { ...window, attn_logit_softcapping: ['f32', 2], final_logit_softcapping: ['f32', 3] },
      names: SANDWICH_NAMES,
    },
  },
  {
    family: 'gemma3',
    config: config('Gemma3ForCausalLM', 7, {
      ...gemma,
      ...{ query_pre_attn_scalar: headDim, rope_local_base_freq: 10_000, rope_theta: 1_000_000 },
      rope_scaling: { rope_type: 'linear', factor: 4 },
    }),
    tensors: blocks(7, { norm: 'norm less one', norms: SANDWICH, headNorms: 'head', tied: true }),
    gguf: {
      architecture: 'gemma3',
      keys: {
        ...window,
        'rope.freq_base': ['f32', 1_000_000],
        'rope.scaling.type': ['string', 'linear'],
        'rope.scaling.factor': ['f32', 4],
      },
      names: SANDWICH_NAMES,
    },
  },
  {
    family: 'phi3',
    config: config('Phi3ForCausalLM', 2, {
      original_max_position_embeddings: ORIGINAL,
      rope_scaling: { type: 'longrope', short_factor: factors(1), long_factor: factors(2) },
    }),
    tensors: [
      t('model.embed_tokens.weight', [VOCABULARY, hidden], 'table'),
      ...each(2, 'model.layers', phi3Layer),
      t('model.norm.weight', [hidden], 'norm'),
      t('lm_head.weight', [VOCABULARY, hidden], 'table'),
    ],
    gguf: {
      architecture: 'phi3',
      keys: {
        'rope.scaling.original_context_length': ['u32', ORIGINAL],
        'rope.scaling.attn_factor': ['f32', MAGNITUDE],
      },
      names: [
        ['self_attn.qkv_proj', 'attn_qkv'],
        ['mlp.gate_up_proj', 'ffn_up'],
      ],
    },
  },
  {
    family: 'smollm3',
    config: config('SmolLM3ForCausalLM', 5, {
      tie_word_embeddings: true,
      no_rope_layers: [1, 1, 1, 0, 1],
    }),
    tensors: blocks(5, { tied: true }),
    gguf: { architecture: 'smollm3', keys: {}, interleaved: true },
  },
  {
    family: 'granite',
    config: config('GraniteForCausalLM', 2, {
      ...{
        embedding_multiplier: 6,
        residual_multiplier: 0.4,
        attention_multiplier: 0.2,
        logits_scaling: 0.5,
      },
    }),
    tensors: blocks(2),
    gguf: {
      architecture: 'granite',
      keys: {
        embedding_scale: ['f32', 6],
        residual_scale: ['f32', 0.4],
        'attention.scale': ['f32', 0.2],
        logit_scale: ['f32', 0.5],
      },
      interleaved: true,
    },
  },
  {
    family: 'olmo2',
    config: config('Olmo3ForCausalLM', 5, {
      sliding_window: WINDOW,
      rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: ORIGINAL },
    }),
    tensors: blocks(5, {
      norms: ['post_attention_layernorm', 'post_feedforward_layernorm'],
      headNorms: 'row',
    }),
    gguf: {
      architecture: 'olmo2',
      keys: {
        ...window,
        'rope.scaling.type': ['string', 'yarn'],
        'rope.scaling.factor': ['f32', 4],
        'rope.scaling.original_context_length': ['u32', ORIGINAL],
      },
      names: SANDWICH_NAMES,
    },
  },
  {
    family: 'gpt2',
    config: {
      architectures: ['GPT2LMHeadModel'],
      ...{ n_embd: hidden, n_layer: 2, n_head: heads, n_positions: context, n_inner: wide },
      ...{ layer_norm_epsilon: 1e-5, activation_function: 'gelu_new', vocab_size: VOCABULARY },
    },
    tensors: [
      t('transformer.wte.weight', [VOCABULARY, hidden], 'table'),
      t('transformer.wpe.weight', [context, hidden], 'table'),
      ...each(2, 'transformer.h', gpt2Layer),
      t('transformer.ln_f.weight', [hidden], 'norm'),
      t('transformer.ln_f.bias', [hidden], 'bias'),
    ],
    gguf: {
      architecture: 'gpt2',
      keys: { 'attention.head_count_kv': ['u32', heads] },
      names: GPT_NAMES,
      layerNorm: true,
    },
  },
  {
    family: 'gpt_neox',
    config: {
      architectures: ['GPTNeoXForCausalLM'],
      ...{ hidden_size: hidden, num_hidden_layers: 2, num_attention_heads: heads, intermediate_size: wide },
      ...{ vocab_size: VOCABULARY, max_position_embeddings: context, layer_norm_eps: 1e-5, rotary_pct: 0.25 },
      ...{
        rotary_emb_base: THETA,
        use_parallel_residual: true,
        hidden_act: 'gelu',
        tie_word_embeddings: false,
      },
    },
    tensors: [
      t('gpt_neox.embed_in.weight', [VOCABULARY, hidden], 'table'),
      ...each(2, 'gpt_neox.layers', neoxLayer),
      t('gpt_neox.final_layer_norm.weight', [hidden], 'norm'),
      t('gpt_neox.final_layer_norm.bias', [hidden], 'bias'),
      t('embed_out.weight', [VOCABULARY, hidden], 'table'),
    ],
    gguf: {
      architecture: 'gptneox',
      keys: {
        'attention.head_count_kv': ['u32', heads],
        'rope.dimension_count': ['u32', headDim / 4],
        use_parallel_residual: ['bool', true],
      },
      names: GPT_NAMES,
      layerNorm: true,
    },
  },
  {
    family: 'qwen3moe',
    config: config('Qwen3MoeForCausalLM', 2, {
      ...{ num_experts: 8, num_experts_per_tok: 3, moe_intermediate_size: wide, norm_topk_prob: true },
      ...{ intermediate_size: 7, decoder_sparse_step: 1, mlp_only_layers: [] },
    }),
    tensors: blocks(2, { headNorms: 'head', mlp: experts(8) }),
    gguf: {
      architecture: 'qwen3moe',
      keys: {
        ...{ expert_count: ['u32', 8], expert_used_count: ['u32', 3] },
        expert_feed_forward_length: ['u32', wide],
      },
    },
  },
  {
    family: 'olmoe',
    config: config('OlmoeForCausalLM', 2, {
      ...{ num_experts: 8, num_experts_per_tok: 2, norm_topk_prob: false, num_key_value_heads: heads },
    }),
    tensors: blocks(2, { headNorms: 'row', mlp: experts(8) }).map((tensor) =>
      /[kv]_proj|k_norm/.test(tensor.name)
        ? { ...tensor, shape: [heads * headDim, ...tensor.shape.slice(1)] }
        : tensor,
    ),
    gguf: {
      architecture: 'olmoe',
      keys: {
        ...{ expert_count: ['u32', 8], expert_used_count: ['u32', 2] },
        'attention.head_count_kv': ['u32', heads],
      },
    },
  },
  {
    family: 'lfm2',
    config: {
      ...config('Lfm2ForCausalLM', 4, { intermediate_size: (wide * 3) / 2 }),
      ...{ norm_eps: 1e-5, conv_L_cache: 3, block_multiple_of: 32, tie_embedding: true },
      layer_types: ['conv', 'conv', 'full_attention', 'conv'],
    },
    tensors: [
      t('model.embed_tokens.weight', [VOCABULARY, hidden], 'table'),
      ...[0, 1, 2, 3].flatMap((layer) => lfm2Layer(layer === 2)(`model.layers.${layer}`)),
      t('model.embedding_norm.weight', [hidden], 'norm'),
    ],
    gguf: {
      architecture: 'lfm2',
      keys: {
        'attention.head_count_kv': ['i32[]', [0, 0, kvHeads, 0]],
        'shortconv.l_cache': ['u32', 3],
      },
      names: [
        ['model.embedding_norm', 'token_embd_norm'],
        ['operator_norm', 'attn_norm'],
        [/self_attn\.([qk])_layernorm/, 'attn_$1_norm'],
        ['self_attn.out_proj', 'attn_output'],
        ['feed_forward.w1', 'ffn_gate'],
        ['feed_forward.w3', 'ffn_up'],
        ['feed_forward.w2', 'ffn_down'],
        ['.conv.', '.shortconv.'],
      ],
    },
  },
]

export const PHI3_FACTORS = { short: factors(1), long: factors(2) } as const
