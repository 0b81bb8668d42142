// Cases of families with experts or latent attention, with the tensors that their transformers classes store.
// This file defines the GGUF names and the changes that llama.cpp's converter makes.
import type { GgufValue } from '../writers/gguf-writer.ts'
import type { RandomTensor } from '../writers/random-tensor.ts'
import type { StoredCase } from './dense-cases.ts'
import { type Pieces, type Sizes, THETA, u32, WINDOW } from './family-tensors.ts'

/** Inner size of an expert, and of a block parallel to experts. */
const SIZE = 48
const SHARED = 40

const SHARED_NAMES = [
  [/mlp\.shared_experts?\.(gate|up|down)_proj/, 'ffn_$1_shexp'],
  ['mlp.shared_expert_gate', 'ffn_gate_inp_shexp'],
] as const

const expertKeys = (count: number, used: number, size = SIZE) => ({
  expert_count: u32(count),
  expert_used_count: u32(used),
  expert_feed_forward_length: u32(size),
})

const LATENT = {
  q_lora_rank: 40,
  kv_lora_rank: 48,
  qk_nope_head_dim: 16,
  qk_rope_head_dim: 8,
  v_head_dim: 20,
  rms_norm_eps: 1e-6,
}
/** Tensors as in files from before llama.cpp stored keys and values separately. */
const latentKeys = ({ heads }: Sizes) => ({
  'attention.q_lora_rank': u32(LATENT.q_lora_rank),
  'attention.kv_lora_rank': u32(LATENT.kv_lora_rank),
  'attention.key_length': u32(LATENT.qk_nope_head_dim + LATENT.qk_rope_head_dim),
  'attention.value_length': u32(LATENT.v_head_dim),
  'attention.head_count_kv': u32(heads),
  'attention.layer_norm_rms_epsilon': ['f32', 1e-6] as GgufValue,
  'rope.dimension_count': u32(LATENT.qk_rope_head_dim),
})
const LATENT_NAMES = [
  ['self_attn.q_a_proj', 'attn_q_a'],
  ['self_attn.q_b_proj', 'attn_q_b'],
  ['self_attn.q_a_layernorm', 'attn_q_a_norm'],
  ['self_attn.kv_a_proj_with_mqa', 'attn_kv_a_mqa'],
  ['self_attn.kv_a_layernorm', 'attn_kv_a_norm'],
  ['self_attn.kv_b_proj', 'attn_kv_b'],
] as const

/** The tensor's values at the indices `at`, as a tensor of this shape. */
const taken = (
  { values }: RandomTensor,
  shape: readonly number[],
  at: (index: number) => number,
): RandomTensor => ({
  shape,
  values: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, index) => values[at(index)]!),
})

/** Gate and up of each expert, one after the other. */
const split: Pieces = (name, tensor) => {
  const [, at] = /^(.*)\.block_sparse_moe\.input_linear\.weight$/.exec(name) ?? []
  if (at === undefined) return undefined
  const [count = 0, rows = 0, inputs = 0] = tensor.shape
  const half = (rows / 2) * inputs
  return ['gate', 'up'].map((part, index) => [
    `${at}.ffn_${part}_exps.weight`,
    taken(tensor, [count, rows / 2, inputs], (i) => (2 * Math.floor(i / half) + index) * half + (i % half)),
  ])
}

/** gpt-oss interleaves gate and up, and stores matrices as [inputs, outputs]. */
const turned: Pieces = (name, tensor) => {
  const [, at, part, isBias] = /^(.*)\.mlp\.experts\.(gate_up|down)_proj(_bias)?$/.exec(name) ?? []
  if (at === undefined) return undefined
  const kind = isBias === undefined ? 'weight' : 'bias'
  const parts = part === 'down' ? ['down'] : ['gate', 'up']
  const of = parts.length
  const [count = 0, inputs = 0, columns = inputs] =
    kind === 'bias' ? [tensor.shape[0], 1, tensor.shape[1]] : tensor.shape
  const outputs = columns / of
  return parts.map((each, first) => [
    `${at}.ffn_${each}_exps.${kind}`,
    taken(tensor, kind === 'bias' ? [count, outputs] : [count, outputs, inputs], (i) => {
      const row = Math.floor(i / inputs)
      const expert = Math.floor(row / outputs)
      return (expert * inputs + (i % inputs)) * columns + (row % outputs) * of + first
    }),
  ])
}

/** Vectors that transformers stores as matrices of one row. */
const flat: Pieces = (name, tensor) =>
  /shared_expert_gate|moe_statics/.test(name)
    ? [[name, { ...tensor, shape: tensor.shape.slice(1) }]]
    : undefined

export const expertCasesOf = (sizes: Sizes): readonly StoredCase[] => [
  {
    family: 'qwen2moe',
    layers: 2,
    config: {
      num_experts: 6,
      num_experts_per_tok: 2,
      moe_intermediate_size: SIZE,
      shared_expert_intermediate_size: SHARED,
      norm_topk_prob: false,
    },
    gguf: {
      keys: { ...expertKeys(6, 2), expert_shared_feed_forward_length: u32(SHARED) },
      names: SHARED_NAMES,
      pieces: flat,
    },
  },
  {
    family: 'granitemoe',
    layers: 2,
    config: {
      num_local_experts: 6,
      num_experts_per_tok: 2,
      embedding_multiplier: 6,
      residual_multiplier: 0.4,
      attention_multiplier: 0.2,
      logits_scaling: 0.5,
    },
    gguf: {
      keys: {
        expert_count: u32(6),
        expert_used_count: u32(2),
        embedding_scale: ['f32', 6],
        residual_scale: ['f32', 0.4],
        'attention.scale': ['f32', 0.2],
        logit_scale: ['f32', 0.5],
      },
      interleaved: true,
      names: [
        ['block_sparse_moe.router.layer', 'ffn_gate_inp'],
        ['block_sparse_moe.output_linear', 'ffn_down_exps'],
      ],
      pieces: split,
    },
  },
  {
    family: 'lfm2moe',
    layers: 3,
    config: {
      num_experts: 6,
      num_experts_per_tok: 2,
      moe_intermediate_size: SIZE,
      num_dense_layers: 1,
      conv_L_cache: 3,
      norm_eps: 1e-5,
      tie_embedding: true,
      layer_types: ['conv', 'full_attention', 'conv'],
    },
    gguf: {
      keys: {
        ...expertKeys(6, 2),
        expert_gating_func: u32(2),
        leading_dense_block_count: u32(1),
        'attention.head_count_kv': ['i32[]', [0, sizes.kvHeads, 0]],
        'shortconv.l_cache': u32(3),
      },
      names: [
        ['model.embedding_norm', 'token_embd_norm'],
        ['operator_norm', 'attn_norm'],
        [/self_attn\.([qk])_layernorm/, 'attn_$1_norm'],
        ['self_attn.out_proj', 'attn_output'],
        ['feed_forward.gate', 'ffn_gate_inp'],
        ['feed_forward.w1', 'ffn_gate'],
        ['feed_forward.w3', 'ffn_up'],
        ['feed_forward.w2', 'ffn_down'],
        ['mlp.gate.e_score_correction_bias', 'exp_probs_b.bias'],
        ['.conv.', '.shortconv.'],
      ],
    },
  },
  {
    family: 'ernie4_5_moe',
    layers: 3,
    config: {
      moe_num_experts: 6,
      moe_k: 2,
      moe_intermediate_size: SIZE,
      moe_num_shared_experts: 1,
      moe_layer_start_index: 1,
      tie_word_embeddings: true,
    },
    gguf: {
      keys: {
        ...expertKeys(6, 2),
        expert_shared_count: u32(1),
        expert_shared_feed_forward_length: u32(SIZE),
        leading_dense_block_count: u32(1),
        interleave_moe_layer_step: u32(1),
      },
      names: [...SHARED_NAMES, ['mlp.moe_statics.e_score_correction_bias', 'exp_probs_b.bias']],
      pieces: flat,
    },
  },
  {
    family: 'deepseek2',
    listed: 'DeepseekV3ForCausalLM',
    layers: 3,
    config: {
      ...LATENT,
      n_routed_experts: 6,
      num_experts_per_tok: 2,
      moe_intermediate_size: SIZE,
      n_shared_experts: 1,
      first_k_dense_replace: 1,
      n_group: 1,
      topk_group: 1,
    },
    gguf: {
      keys: {
        ...latentKeys(sizes),
        ...expertKeys(6, 2),
        expert_shared_count: u32(1),
        expert_weights_scale: ['f32', 2.5],
        expert_weights_norm: ['bool', true],
        expert_gating_func: u32(2),
        leading_dense_block_count: u32(1),
      },
      names: [...SHARED_NAMES, ...LATENT_NAMES, ['mlp.gate.e_score_correction_bias', 'exp_probs_b.bias']],
    },
  },
  {
    family: 'dots1',
    layers: 3,
    // llama.cpp's graph requires as many key heads as query heads.
    config: {
      num_key_value_heads: sizes.heads,
      n_routed_experts: 6,
      num_experts_per_tok: 2,
      moe_intermediate_size: SIZE,
      n_shared_experts: 1,
      first_k_dense_replace: 1,
      norm_topk_prob: true,
      routed_scaling_factor: 2.5,
    },
    gguf: {
      keys: {
        ...expertKeys(6, 2),
        'attention.head_count_kv': u32(sizes.heads),
        expert_shared_count: u32(1),
        expert_weights_scale: ['f32', 2.5],
        expert_weights_norm: ['bool', true],
        expert_gating_func: u32(2),
        leading_dense_block_count: u32(1),
      },
      names: [...SHARED_NAMES, ['mlp.gate.e_score_correction_bias', 'exp_probs_b.bias']],
    },
  },
  {
    family: 'minicpm3',
    layers: 2,
    config: { ...LATENT, tie_word_embeddings: true },
    gguf: { keys: latentKeys(sizes), names: LATENT_NAMES },
  },
  {
    family: 'gpt_oss',
    layers: 2,
    config: {
      num_local_experts: 6,
      num_experts_per_tok: 2,
      sliding_window: WINDOW,
      layer_types: ['sliding_attention', 'full_attention'],
      rope_parameters: { rope_type: 'default', rope_theta: THETA },
    },
    gguf: {
      keys: { ...expertKeys(6, 2, sizes.wide), 'attention.sliding_window': u32(WINDOW) },
      names: [
        ['post_attention_layernorm', 'post_attention_norm'],
        ['mlp.router', 'ffn_gate_inp'],
        ['self_attn.sinks', 'attn_sinks.weight'],
      ],
      pieces: turned,
    },
  },
]
