// Families a setting or two away from Llama: Seed-OSS, ERNIE 4.5, Helium and Hunyuan, all dense.

import { PLAIN } from '../blocks/parts.ts'
import type { RopeConfig } from '../config/config.ts'
import { fullRope } from '../config/hf-rope.ts'
import { defaults, family, NO_GGUF } from '../family.ts'

export const seedOss = family(PLAIN, {
  gguf: {
    architecture: 'seed_oss',
    pairing: 'halves',
    names: { 'layers.N.mlp_norm.weight': 'blk.N.post_attention_norm.weight' },
  },
  hf: {
    classes: {
      SeedOssForCausalLM: defaults(155_136, 4096, 27_648, 64, 80, 524_288, {
        num_key_value_heads: 8,
        head_dim: 128,
        attention_bias: true,
        attention_out_bias: false,
      }),
    },
    biases: { qkv: 'attention_bias', output: 'attention_out_bias', mlp: 'mlp_bias' },
  },
})

/** The first files use the second class's name. */
const ERNIE = defaults(103_424, 1024, 3072, 18, 16, 131_072, {
  num_key_value_heads: 2,
  head_dim: 128,
  rms_norm_eps: 1e-5,
  rope_theta: 5e5,
  tie_word_embeddings: true,
})

export const ernie = family(PLAIN, {
  gguf: { architecture: 'ernie4_5', pairing: 'interleaved' },
  hf: {
    classes: { Ernie4_5ForCausalLM: ERNIE, Ernie4_5_ForCausalLM: ERNIE },
    pairing: 'interleaved',
    biases: { qkv: 'use_bias', output: 'use_bias', mlp: 'use_bias' },
  },
})

export const helium = family(PLAIN, {
  gguf: NO_GGUF,
  hf: {
    classes: {
      HeliumForCausalLM: defaults(48_000, 2560, 7040, 24, 20, 4096, {
        head_dim: 128,
        rms_norm_eps: 1e-8,
        rope_theta: 1e5,
      }),
    },
    pairing: 'interleaved',
    biases: { qkv: 'attention_bias', mlp: 'mlp_bias' },
  },
})

/** With `alpha`, the scaling that the file calls dynamic only increases the RoPE base. */
function withAlpha(rope: RopeConfig, alpha: number): RopeConfig {
  const { theta, dims } = rope
  return alpha === 0 ? rope : { ...rope, theta: theta * alpha ** (dims / (dims - 2)), scaling: undefined }
}

export const hunyuan = family(
  { ...PLAIN, headNorms: 'rotated' },
  {
    gguf: { architecture: 'hunyuan-dense', pairing: 'halves' },
    hf: {
      classes: {
        HunYuanDenseV1ForCausalLM: defaults(290_943, 4096, 11_008, 32, 32, 2048, { rms_norm_eps: 1e-5 }),
      },
      biases: { qkv: 'attention_bias', output: 'attention_bias' },
      names: {
        'layers.N.attn_q_norm.weight': 'model.layers.N.self_attn.query_layernorm.weight',
        'layers.N.attn_k_norm.weight': 'model.layers.N.self_attn.key_layernorm.weight',
      },
      config(fields, { rope }) {
        const stated = fullRope(fields)
        const isDynamic = rope.scaling?.type === 'dynamic'
        return { rope: withAlpha(rope, isDynamic ? (stated?.number('alpha', 0) ?? 0) : 0) }
      },
    },
  },
)
