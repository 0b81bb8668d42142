// EXAONE 3: Llama under GPT-2's names. EXAONE 4: norms on block outputs and on heads; some layers have a
// window, and those without one do not rotate.

import { PLAIN } from '../blocks/parts.ts'
import { unrotatedPast } from '../config/fields.ts'
import { defaults, family, modules } from '../family.ts'

const EXAONE = defaults(102_400, 4096, 14_336, 32, 32, 4096, {
  num_key_value_heads: 8,
  rms_norm_eps: 1e-5,
  rope_theta: 5e5,
})
const AT = 'transformer.h.N'

export const exaone = family(PLAIN, {
  gguf: { architecture: 'exaone', pairing: 'halves' },
  hf: {
    classes: { ExaoneForCausalLM: EXAONE, exaone: EXAONE },
    keys: {
      num_hidden_layers: 'num_layers',
      rms_norm_eps: 'layer_norm_epsilon',
      hidden_act: 'activation_function',
    },
    names: modules({
      embed: 'transformer.wte',
      norm: 'transformer.ln_f',
      'layers.N.attn_norm': `${AT}.ln_1`,
      'layers.N.attn_q': `${AT}.attn.attention.q_proj`,
      'layers.N.attn_k': `${AT}.attn.attention.k_proj`,
      'layers.N.attn_v': `${AT}.attn.attention.v_proj`,
      'layers.N.attn_output': `${AT}.attn.attention.out_proj`,
      'layers.N.mlp_norm': `${AT}.ln_2`,
      'layers.N.mlp_gate': `${AT}.mlp.c_fc_0`,
      'layers.N.mlp_up': `${AT}.mlp.c_fc_1`,
      'layers.N.mlp_down': `${AT}.mlp.c_proj`,
    }),
  },
})

/** Every fourth layer lacks a window, unless the file says otherwise. */
const PERIOD = 4

export const exaone4 = family(
  { ...PLAIN, norms: 'after', headNorms: 'head' },
  {
    gguf: {
      architecture: 'exaone4',
      pairing: 'halves',
      windowPeriod: PERIOD,
      config: (fields, { layers }) => unrotatedPast(fields, 'attention.sliding_window', layers, PERIOD),
    },
    hf: {
      classes: {
        Exaone4ForCausalLM: defaults(102_400, 4096, 16_384, 32, 32, 2048, {
          rms_norm_eps: 1e-5,
          sliding_window: 4096,
          sliding_window_pattern: PERIOD,
        }),
      },
      biases: {},
      config: (fields, { layers }) => unrotatedPast(fields, 'sliding_window', layers, PERIOD),
    },
  },
)
