// StableLM: layer norms with biases, and rotation of part of each head. Some models have parallel blocks, and
// some have norms with separate weights per head.

import { PLAIN } from '../../blocks/parts.ts'
import type { ModelConfig } from '../../config/config.ts'
import { defaults, family, type Names, type StoredWeight } from '../../family.ts'

/** One tensor for each head. */
const byHead =
  (letter: 'q' | 'k') =>
  ({ heads, kvHeads }: ModelConfig): StoredWeight => ({
    tensor: '',
    joined: Array.from(
      { length: letter === 'q' ? heads : kvHeads },
      (_, head) => `model.layers.N.self_attn.${letter}_layernorm.norms.${head}.weight`,
    ),
  })
const HEAD_NORMS: Names = {
  'layers.N.attn_q_norm.weight': byHead('q'),
  'layers.N.attn_k_norm.weight': byHead('k'),
}

export const stablelm = family(
  { ...PLAIN, norm: 'layer', normBias: true, headNorms: 'layers' },
  {
    gguf: {
      architecture: 'stablelm',
      pairing: 'halves',
      names: {
        'layers.N.attn_q_norm.weight': () => ({ tensor: 'blk.N.attn_q_norm.weight', isFlat: true }),
        'layers.N.attn_k_norm.weight': () => ({ tensor: 'blk.N.attn_k_norm.weight', isFlat: true }),
      },
      config(_, __, kinds) {
        const isParallel = !kinds.has('ffn_norm.weight')
        return {
          ...(isParallel && { parallelResidual: true, sharedNorm: true }),
          headNorms: kinds.has('attn_q_norm.weight'),
        }
      },
    },
    hf: {
      classes: {
        StableLmForCausalLM: defaults(50_304, 2560, 6912, 32, 32, 4096, {
          rms_norm_eps: 1e-5,
          partial_rotary_factor: 0.25,
        }),
      },
      keys: { rms_norm_eps: 'layer_norm_eps' },
      biases: { qkv: 'use_qkv_bias' },
      names: HEAD_NORMS,
      config: (fields) => ({
        ...(fields.fact('use_parallel_residual', false) && { parallelResidual: true, sharedNorm: true }),
        headNorms: fields.fact('qk_layernorm', false),
      }),
    },
  },
)
