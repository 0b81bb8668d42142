// Family cases. A small model of each family: config.json, tensors, and keys under their GGUF names.
import '../../../../scripts/test/rare-families.ts'
import { FAMILIES, familyFile } from '../../../../src/core/arch/families.ts'
import { denseCases, storedCases } from './dense-cases.ts'
import { expertCasesOf } from './expert-cases.ts'
import {
  each,
  type FamilyCase,
  familyParts,
  GPT_NAMES,
  gemma,
  ORIGINAL,
  SANDWICH,
  SANDWICH_NAMES,
  type Sizes,
  THETA,
  t,
  VOCABULARY,
  WINDOW,
  window,
} from './family-tensors.ts'
import { perLayerCasesOf } from './per-layer-cases.ts'
import { recurrentCases } from './recurrent-cases.ts'

/** Sizes of the models whose results are in golden/families.json. */
const SIZES: Sizes = { hidden: 64, heads: 4, kvHeads: 2, headDim: 16, wide: 96, context: 128 }

/**
 * Families whose small models other files build: random-llama.ts, random-recurrent.ts and the tests in
 * vision/.
 */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'llama',
  'qwen2',
  'qwen2vl',
  'mamba',
  'mamba2',
  'granitehybrid',
])

/** One case per family. A family that is not listed is built like Llama, with the norms in its traits. */
export function familyCases(sizes: Sizes): readonly FamilyCase[] {
  const { hidden, heads, kvHeads, headDim, wide, context } = sizes
  const { config, blocks, experts, phi3Layer, factors, magnitude, gpt2Layer, neoxLayer, lfm2Layer } =
    familyParts(sizes)
  const cases: readonly Omit<FamilyCase, 'sizes'>[] = [
    {
      family: 'gemma2',
      config: config('Gemma2ForCausalLM', 3, {
        ...gemma,
        query_pre_attn_scalar: headDim,
        attn_logit_softcapping: 2,
        final_logit_softcapping: 3,
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
        query_pre_attn_scalar: headDim,
        rope_local_base_freq: 10_000,
        rope_theta: 1_000_000,
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
          'rope.scaling.attn_factor': ['f32', magnitude],
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
        embedding_multiplier: 6,
        residual_multiplier: 0.4,
        attention_multiplier: 0.2,
        logits_scaling: 0.5,
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
        n_embd: hidden,
        n_layer: 2,
        n_head: heads,
        n_positions: context,
        n_inner: wide,
        layer_norm_epsilon: 1e-5,
        activation_function: 'gelu_new',
        vocab_size: VOCABULARY,
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
        hidden_size: hidden,
        num_hidden_layers: 2,
        num_attention_heads: heads,
        intermediate_size: wide,
        vocab_size: VOCABULARY,
        max_position_embeddings: context,
        layer_norm_eps: 1e-5,
        rotary_pct: 0.25,
        rotary_emb_base: THETA,
        use_parallel_residual: true,
        hidden_act: 'gelu',
        tie_word_embeddings: false,
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
        num_experts: 8,
        num_experts_per_tok: 3,
        moe_intermediate_size: wide,
        norm_topk_prob: true,
        intermediate_size: 7,
        decoder_sparse_step: 1,
        mlp_only_layers: [],
      }),
      tensors: blocks(2, { headNorms: 'head', mlp: experts(8) }),
      gguf: {
        architecture: 'qwen3moe',
        keys: {
          expert_count: ['u32', 8],
          expert_used_count: ['u32', 3],
          expert_feed_forward_length: ['u32', wide],
        },
      },
    },
    {
      family: 'olmoe',
      config: config('OlmoeForCausalLM', 2, {
        num_experts: 8,
        num_experts_per_tok: 2,
        norm_topk_prob: false,
        num_key_value_heads: heads,
      }),
      tensors: blocks(2, { headNorms: 'row', mlp: experts(8) }).map((tensor) =>
        /[kv]_proj|k_norm/.test(tensor.name)
          ? { ...tensor, shape: [heads * headDim, ...tensor.shape.slice(1)] }
          : tensor,
      ),
      gguf: {
        architecture: 'olmoe',
        keys: {
          expert_count: ['u32', 8],
          expert_used_count: ['u32', 2],
          'attention.head_count_kv': ['u32', heads],
        },
      },
    },
    {
      family: 'lfm2',
      config: {
        ...config('Lfm2ForCausalLM', 4, { intermediate_size: (wide * 3) / 2 }),
        norm_eps: 1e-5,
        conv_L_cache: 3,
        block_multiple_of: 32,
        tie_embedding: true,
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
  const all = [
    ...cases,
    ...denseCases(sizes),
    ...storedCases(expertCasesOf(sizes), sizes),
    ...storedCases(perLayerCasesOf(sizes), sizes),
    ...recurrentCases(sizes),
  ]
  const listed = new Set(all.map(({ family }) => family))
  const others = FAMILIES.filter((family) => !listed.has(family) && !ELSEWHERE.has(family))
  const plain = others.flatMap((family) => {
    const { traits, gguf, hf } = familyFile(family)
    // Excludes families that llama.cpp does not support.
    if (gguf.architecture === undefined) return []
    const [named = ''] = Object.keys(hf.classes)
    return [
      {
        family,
        config: config(named, 2),
        tensors: blocks(2, traits?.headNorms === undefined ? {} : { headNorms: traits.headNorms }),
        gguf: {
          architecture: gguf.architecture,
          keys: {},
          interleaved: gguf.pairing === 'interleaved',
        },
      },
    ]
  })
  return [...plain, ...all].map((one) => ({ ...one, sizes }))
}

export const FAMILY_CASES = familyCases(SIZES)
