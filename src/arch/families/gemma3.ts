// Gemma 3. In: nothing. Out: Gemma 3's text models: Gemma 2 with head norms, no caps, another RoPE for
// windows.

import { localRope } from '../config/hf-rope.ts'
import { defaults, family } from '../family.ts'
import { GEMMA, GEMMA_DEFAULTS, GEMMA_NORMS, gemmaScale } from './gemma2.ts'

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
        // Layers with a window rotate faster, and their frequencies are unscaled.
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
          ...{ ...GEMMA_DEFAULTS, rope_theta: 1e6, sliding_window_pattern: 6 },
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
