// Phi-1, Phi-1.5 and Phi-2: parallel blocks that share one layer norm, rotation of part of each head, and
// biases everywhere, including the logits.

import type { ModelConfig } from '../../config/config.ts'
import { defaults, family, modules, type StoredWeight } from '../../family.ts'
import { qkvRows } from '../phi3.ts'
import { GPT } from './gpt2.ts'

const AT = 'model.layers.N'
const PARALLEL = { parallelResidual: true, sharedNorm: true, biases: { logits: true } } as const

/** Some files store Q, K and V in one tensor. */
const ofQkv =
  (letter: string, kind: 'weight' | 'bias', part: number) =>
  (config: ModelConfig): StoredWeight => ({
    tensor: `blk.N.attn_${letter}.${kind}`,
    orElse: qkvRows(`blk.N.attn_qkv.${kind}`, config, part),
  })

export const phi2 = family(
  { ...GPT, headNorms: 'layer' },
  {
    gguf: {
      architecture: 'phi2',
      pairing: 'halves',
      config: () => ({ ...PARALLEL, headNorms: false }),
      names: Object.fromEntries(
        (['weight', 'bias'] as const).flatMap((kind) =>
          ['q', 'k', 'v'].map((letter, part) => [
            `layers.N.attn_${letter}.${kind}`,
            ofQkv(letter, kind, part),
          ]),
        ),
      ),
    },
    hf: {
      classes: {
        PhiForCausalLM: defaults(51_200, 2048, 8192, 24, 32, 2048, {
          rms_norm_eps: 1e-5,
          partial_rotary_factor: 0.5,
        }),
      },
      keys: { rms_norm_eps: 'layer_norm_eps' },
      biases: {},
      names: modules({
        norm: 'model.final_layernorm',
        'layers.N.attn_q_norm': `${AT}.self_attn.q_layernorm`,
        'layers.N.attn_k_norm': `${AT}.self_attn.k_layernorm`,
        'layers.N.attn_output': `${AT}.self_attn.dense`,
        'layers.N.mlp_up': `${AT}.mlp.fc1`,
        'layers.N.mlp_down': `${AT}.mlp.fc2`,
      }),
      config: (fields) => ({ ...PARALLEL, headNorms: fields.fact('qk_layernorm', false) }),
    },
  },
)
