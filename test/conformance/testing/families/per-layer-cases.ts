// Cases of families with per-layer embeddings, with the tensors that their transformers classes store. This
// file lists their names in GGUF.
import type { GgufValue } from '../writers/gguf-writer.ts'
import type { StoredCase } from './dense-cases.ts'
import { f32, SANDWICH_NAMES, type Sizes, THETA, u32, VOCABULARY, WINDOW, window } from './family-tensors.ts'

const flags = (kinds: readonly string[]): GgufValue => [
  'i32[]',
  kinds.map((kind) => (kind === LOCAL ? 1 : 0)),
]

const LOCAL = 'sliding_attention'
const FULL = 'full_attention'

const NAMES = [
  ['model.embed_tokens_per_layer', 'per_layer_token_embd'],
  ['model.per_layer_model_projection', 'per_layer_model_proj'],
  ['model.per_layer_projection_norm', 'per_layer_proj_norm'],
  ['per_layer_input_gate', 'inp_gate'],
  ['per_layer_projection', 'proj'],
  ['post_per_layer_input_norm', 'post_norm'],
  ...SANDWICH_NAMES,
] as const

/** The only widths of Gemma 3n's per-layer embeddings and LAuReL matrices that llama.cpp supports. */
const LAYER_SIZE = 256
const RANK = 64
/**
 * Wide enough that dividing by n - 1 instead of n, as llama.cpp does for standard deviations, changes little.
 */
const WIDE = 2560

const GEMMA3N_KINDS = [LOCAL, LOCAL, LOCAL, LOCAL, FULL, LOCAL]
const GEMMA4_KINDS = [LOCAL, FULL, LOCAL, FULL, LOCAL, FULL]

/** The factors of the layers' outputs. */
const SCALES = [0.5, 1.5, 1, 0.75, 1.25, 0.875]

export const perLayerCasesOf = ({ headDim, kvHeads, wide }: Sizes): readonly StoredCase[] => [
  {
    family: 'gemma3n',
    layers: GEMMA3N_KINDS.length,
    config: {
      layer_types: GEMMA3N_KINDS,
      sliding_window: WINDOW,
      tie_word_embeddings: true,
      intermediate_size: WIDE,
      vocab_size_per_layer_input: VOCABULARY,
      hidden_size_per_layer_input: LAYER_SIZE,
      laurel_rank: RANK,
      num_kv_shared_layers: 0,
      activation_sparsity_pattern: GEMMA3N_KINDS.map(() => 0.95),
      final_logit_softcapping: 30,
    },
    gguf: {
      keys: {
        ...window,
        'attention.sliding_window_pattern': flags(GEMMA3N_KINDS),
        'attention.shared_kv_layers': u32(0),
        feed_forward_length: u32(WIDE),
        embedding_length_per_layer_input: u32(LAYER_SIZE),
        'altup.num_inputs': u32(4),
        'altup.active_idx': u32(0),
        'rope.freq_base_swa': f32(10_000),
      },
      names: [
        ['altup.modality_router', 'altup_router'],
        ['altup.router_norm', 'altup_router_norm'],
        ['altup.prediction_coefs', 'altup_predict_coef'],
        ['altup.correction_coefs', 'altup_correct_coef'],
        ['altup.correct_output_scale', 'altup_correct_scale.weight'],
        ['laurel.linear_left', 'laurel_l'],
        ['laurel.linear_right', 'laurel_r'],
        ['laurel.post_laurel_norm', 'laurel_post_norm'],
        ...NAMES,
      ],
    },
  },
  {
    family: 'gemma4',
    layers: GEMMA4_KINDS.length,
    config: {
      layer_types: GEMMA4_KINDS,
      sliding_window: WINDOW,
      tie_word_embeddings: true,
      vocab_size_per_layer_input: VOCABULARY,
      hidden_size_per_layer_input: 24,
      num_kv_shared_layers: 2,
      use_double_wide_mlp: true,
      global_head_dim: 2 * headDim,
      num_global_key_value_heads: 1,
      attention_k_eq_v: true,
      final_logit_softcapping: 30,
      rope_parameters: {
        sliding_attention: { rope_type: 'default', rope_theta: 2000 },
        full_attention: { rope_type: 'proportional', rope_theta: THETA, partial_rotary_factor: 0.25 },
      },
    },
    extra: SCALES.map((value, layer) => ({
      ...{ name: `model.layers.${layer}.layer_scalar`, shape: [1], kind: 'norm' },
      value,
    })),
    gguf: {
      keys: {
        ...window,
        'attention.sliding_window_pattern': flags(GEMMA4_KINDS),
        'attention.shared_kv_layers': u32(2),
        'attention.key_length': u32(2 * headDim),
        'attention.value_length': u32(2 * headDim),
        'attention.key_length_swa': u32(headDim),
        'attention.value_length_swa': u32(headDim),
        'attention.head_count_kv': ['i32[]', GEMMA4_KINDS.map((kind) => (kind === LOCAL ? kvHeads : 1))],
        feed_forward_length: ['i32[]', GEMMA4_KINDS.map((_, layer) => (layer < 4 ? wide : 2 * wide))],
        embedding_length_per_layer_input: u32(24),
        final_logit_softcapping: f32(30),
        'rope.freq_base': f32(THETA),
        'rope.freq_base_swa': f32(2000),
        'rope.dimension_count': u32(2 * headDim),
        'rope.dimension_count_swa': u32(headDim),
      },
      names: [['layer_scalar', 'layer_output_scale.weight'], ...NAMES],
      vectors: {
        // A quarter of the pairs are rotated.
        'rope_freqs.weight': Array.from({ length: headDim }, (_, pair) => (pair < headDim / 4 ? 1 : 1e30)),
      },
    },
  },
]
