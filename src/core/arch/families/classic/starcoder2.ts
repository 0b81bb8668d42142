// StarCoder 2: GPT-2's blocks and biases, with RoPE.

import { PLAIN } from '../../blocks/parts.ts'
import { defaults, family, modules } from '../../family.ts'
import { GPT } from './gpt2.ts'

const AT = 'model.layers.N'

export const starcoder2 = family(
  { ...PLAIN, norm: 'layer', normBias: true, mlp: 'plain', activation: GPT.activation },
  {
    gguf: { architecture: 'starcoder2', pairing: 'halves' },
    hf: {
      classes: {
        Starcoder2ForCausalLM: defaults(49_152, 3072, 12_288, 30, 24, 4096, {
          num_key_value_heads: 2,
          rms_norm_eps: 1e-5,
          sliding_window: 0,
          tie_word_embeddings: true,
          use_bias: true,
        }),
      },
      keys: { rms_norm_eps: 'norm_epsilon' },
      biases: { qkv: 'use_bias', output: 'use_bias', mlp: 'use_bias' },
      names: modules({ 'layers.N.mlp_up': `${AT}.mlp.c_fc`, 'layers.N.mlp_down': `${AT}.mlp.c_proj` }),
    },
  },
)
