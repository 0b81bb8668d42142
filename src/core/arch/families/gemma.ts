// Gemma 1: GeGLU, scaled embeddings, norms that store the weight minus 1. Gemma 2: norms around both blocks,
// GeGLU, soft caps, windows in alternate layers. Gemma 3: head norms in place of soft caps, and a different
// RoPE for layers with a window. VaultGemma: Gemma 2 with Gemma 1's norms.

import { type DecoderTraits, PLAIN } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import type { Fields } from '../config/fields.ts'
import { localRope } from '../config/hf-rope.ts'
import { defaults, family, lessOne, type Names, NO_GGUF } from '../family.ts'

const GEMMA: DecoderTraits = { ...PLAIN, norms: 'around', activation: 'gelu' }

/** The scale of attention scores. The 27B models do not derive it from the head size. */
const gemmaScale = ({ layers, hiddenSize, heads, headDim }: ModelConfig, largest: number): number =>
  1 / Math.sqrt(layers === largest ? hiddenSize / heads : headDim)

const GEMMA_DEFAULTS = {
  num_key_value_heads: 4,
  head_dim: 256,
  sliding_window: 4096,
  tie_word_embeddings: true,
} as const

/** Norms in Hugging Face files, which store the weight minus 1. */
const GEMMA_NORMS: Names = {
  'norm.weight': lessOne('model.norm.weight'),
  'layers.N.attn_norm.weight': lessOne('model.layers.N.input_layernorm.weight'),
  'layers.N.attn_post_norm.weight': lessOne('model.layers.N.post_attention_layernorm.weight'),
  'layers.N.mlp_norm.weight': lessOne('model.layers.N.pre_feedforward_layernorm.weight'),
  'layers.N.mlp_post_norm.weight': lessOne('model.layers.N.post_feedforward_layernorm.weight'),
  'layers.N.attn_q_norm.weight': lessOne('model.layers.N.self_attn.q_norm.weight'),
  'layers.N.attn_k_norm.weight': lessOne('model.layers.N.self_attn.k_norm.weight'),
}

const MODEL = 'model.layers.N'

export const gemma = family(
  { ...PLAIN, activation: 'gelu' },
  {
    gguf: {
      architecture: 'gemma',
      pairing: 'halves',
      config: (_, { hiddenSize }) => ({ embeddingScale: Math.sqrt(hiddenSize) }),
    },
    hf: {
      classes: {
        GemmaForCausalLM: defaults(256_000, 3072, 24_576, 28, 16, 8192, {
          num_key_value_heads: 16,
          head_dim: 256,
          tie_word_embeddings: true,
        }),
      },
      names: {
        ...GEMMA_NORMS,
        'layers.N.mlp_norm.weight': lessOne(`${MODEL}.post_attention_layernorm.weight`),
      },
      config: (_, { hiddenSize, activation }) => ({
        embeddingScale: Math.sqrt(hiddenSize),
        // The first files name the other GELU, but the class uses this one.
        activation: activation === 'gelu_exact' ? undefined : activation,
      }),
    },
  },
)

const GEMMA2_CLASS = {
  ...GEMMA_DEFAULTS,
  sliding_window_pattern: 2,
  attn_logit_softcapping: 50,
  final_logit_softcapping: 30,
}

const gemma2Config = (fields: Fields, { hiddenSize }: ModelConfig): Partial<ModelConfig> => ({
  embeddingScale: Math.sqrt(hiddenSize),
  attentionScale: 1 / Math.sqrt(fields.number('query_pre_attn_scalar', 256)),
  attentionCap: fields.number('attn_logit_softcapping', 0),
  logitCap: fields.number('final_logit_softcapping', 0),
})

export const vaultgemma = family(
  { ...PLAIN, activation: 'gelu' },
  {
    gguf: NO_GGUF,
    hf: {
      classes: { VaultGemmaForCausalLM: defaults(256_000, 2304, 9216, 26, 8, 8192, GEMMA2_CLASS) },
      keys: { hidden_act: 'hidden_activation' },
      names: GEMMA_NORMS,
      config: gemma2Config,
    },
  },
)

export const gemma2 = family(GEMMA, {
  gguf: {
    architecture: 'gemma2',
    pairing: 'halves',
    windowPeriod: 2,
    config: (fields, common) => ({
      embeddingScale: Math.sqrt(common.hiddenSize),
      attentionScale: gemmaScale(common, 46),
      attentionCap: fields.number('attn_logit_softcapping', 50),
      logitCap: fields.number('final_logit_softcapping', 30),
    }),
  },
  hf: {
    classes: {
      Gemma2ForCausalLM: defaults(256_000, 2304, 9216, 26, 8, 8192, GEMMA2_CLASS),
    },
    keys: { hidden_act: 'hidden_activation' },
    names: GEMMA_NORMS,
    config: gemma2Config,
  },
})

export const gemma3 = family(
  { ...GEMMA, headNorms: 'head' },
  {
    gguf: {
      architecture: 'gemma3',
      pairing: 'halves',
      windowPeriod: 6,
      config: (fields, common) => ({
        embeddingScale: Math.sqrt(common.hiddenSize),
        attentionScale: gemmaScale(common, 62),
        logitCap: fields.number('final_logit_softcapping', 0),
        // Layers with a window rotate faster, with unscaled frequencies.
        localRope: {
          ...common.rope,
          theta: fields.number('rope.freq_base_swa', 10_000),
          scaling: undefined,
        },
      }),
    },
    hf: {
      classes: {
        Gemma3ForCausalLM: defaults(262_208, 2304, 9216, 26, 8, 131_072, {
          ...GEMMA_DEFAULTS,
          rope_theta: 1e6,
          sliding_window_pattern: 6,
        }),
      },
      keys: { hidden_act: 'hidden_activation' },
      names: GEMMA_NORMS,
      config: (fields, common) => ({
        embeddingScale: Math.sqrt(common.hiddenSize),
        attentionScale: 1 / Math.sqrt(fields.number('query_pre_attn_scalar', 256)),
        logitCap: fields.number('final_logit_softcapping', 0),
        localRope: localRope(fields, common, fields.number('rope_local_base_freq', 10_000)),
      }),
    },
  },
)
