// Phi-3.5-MoE: layer norms, and experts that are chosen one after another.
import { PLAIN } from '../../blocks/parts.ts'
import type { ModelConfig } from '../../config/config.ts'
import { type Fields, unbuiltVariant } from '../../config/fields.ts'
import { fullRope } from '../../config/hf-rope.ts'
import { defaults, family, NO_GGUF } from '../../family.ts'

/** The router's rule is defined for exactly this many choices. */
const CHOICES = 2

const DEFAULTS = defaults(32_064, 4096, 6400, 32, 32, 131_072, {
  num_key_value_heads: 8,
  rms_norm_eps: 1e-5,
  rope_theta: 1e6,
  sliding_window: 0,
  num_local_experts: 16,
  num_experts_per_tok: CHOICES,
  router_jitter_noise: 0.01,
})

export const phimoe = family(
  { ...PLAIN, norm: 'layer', normBias: true, mlp: 'experts' },
  {
    gguf: NO_GGUF,
    hf: {
      classes: {
        PhimoeForCausalLM: DEFAULTS,
        // The name before transformers supported it.
        PhiMoEForCausalLM: DEFAULTS,
      },
      biases: { qkv: 'attention_bias', output: 'attention_bias', logits: 'lm_head_bias' },
      config(fields, { rope }) {
        const used = fields.number('num_experts_per_tok')
        if (used !== CHOICES) throw unbuiltVariant(fields.file, `${used} experts a token`, `${CHOICES}`)
        return {
          rope: magnified(fields, rope),
          experts: {
            count: fields.number('num_local_experts'),
            used,
            normalize: false,
            scoring: 'mixer',
            epsilon: fields.number('router_jitter_noise'),
          },
        }
      },
    },
  },
)

/** LongRoPE with explicit magnitudes, which must be equal for short and long contexts. */
function magnified(fields: Fields, rope: ModelConfig['rope']): ModelConfig['rope'] {
  const { scaling } = rope
  const stated = fullRope(fields)
  if (scaling === undefined || stated === undefined) return rope
  if (scaling.type !== 'longrope')
    throw unbuiltVariant(fields.file, `RoPE scaling "${scaling.type}"`, 'longrope scaling, or none')
  const magnitude = stated.number('short_mscale')
  const long = stated.number('long_mscale')
  if (long !== magnitude)
    throw unbuiltVariant(fields.file, `short_mscale ${magnitude} and long_mscale ${long}`, 'equal ones')
  return { ...rope, scaling: { ...scaling, magnitude } }
}
