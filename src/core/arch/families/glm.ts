// GLM-4 (9B) and GLM-Edge: Llama with rotation of neighbouring pairs in half of each head, biases on Q, K and
// V, and one tensor for gate and up. GLM-4-0414 also has norms around both blocks.

import { PLAIN } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import { defaults, type FamilyFile, family, type Names, type StoredWeight } from '../family.ts'
import { mergedGateUp, qkvRows } from './phi3.ts'

/** The first converters left Q, K and V in one tensor. */
const qkv = (kind: 'weight' | 'bias'): Names =>
  Object.fromEntries(
    (['q', 'k', 'v'] as const).map((letter, part) => [
      `layers.N.attn_${letter}.${kind}`,
      (config: ModelConfig): StoredWeight => ({
        tensor: `blk.N.attn_${letter}.${kind}`,
        orElse: qkvRows(`blk.N.attn_qkv.${kind}`, config, part),
      }),
    ]),
  )

const GGUF_NAMES: Names = { ...qkv('weight'), ...qkv('bias'), ...mergedGateUp('blk.N.ffn_up.weight') }
const HF_NAMES = mergedGateUp('model.layers.N.mlp.gate_up_proj.weight')

const SIZES = defaults(151_552, 4096, 13_696, 40, 32, 131_072, {
  num_key_value_heads: 2,
  head_dim: 128,
  rms_norm_eps: 1.5625e-7,
  partial_rotary_factor: 0.5,
  attention_bias: true,
})

/** What both families share in Hugging Face files. */
const HF = { pairing: 'interleaved', biases: { qkv: 'attention_bias' } } as const satisfies Partial<
  FamilyFile['hf']
>

export const glm = family(PLAIN, {
  gguf: { architecture: 'chatglm', pairing: 'interleaved', names: GGUF_NAMES },
  hf: { ...HF, classes: { GlmForCausalLM: SIZES }, names: HF_NAMES },
})

const AT = 'model.layers.N'

export const glm4 = family(
  { ...PLAIN, norms: 'around' },
  {
    gguf: { architecture: 'glm4', pairing: 'interleaved', names: GGUF_NAMES },
    hf: {
      ...HF,
      classes: { Glm4ForCausalLM: SIZES },
      names: {
        ...HF_NAMES,
        'layers.N.attn_post_norm.weight': `${AT}.post_self_attn_layernorm.weight`,
        'layers.N.mlp_norm.weight': `${AT}.post_attention_layernorm.weight`,
        'layers.N.mlp_post_norm.weight': `${AT}.post_mlp_layernorm.weight`,
      },
    },
  },
)
