// Qwen2 and Qwen2.5: Llama with biases on Q, K and V. Qwen2-VL: rotations by height and width.
// Qwen3: norms of each head's queries and keys instead; dense, or with experts.

import { PLAIN } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import { type Fields, unbuiltVariant } from '../config/fields.ts'
import { fullRope } from '../config/hf-rope.ts'
import { defaults, family } from '../family.ts'

/** If the window is used, layers from `max_window_layers` on have it. */
const QWEN_DEFAULTS = {
  num_key_value_heads: 32,
  use_sliding_window: false,
  sliding_window: 4096,
  max_window_layers: 28,
}

export const qwen2 = family(
  { ...PLAIN, qkvBias: true },
  {
    gguf: { architecture: 'qwen2', pairing: 'halves' },
    hf: {
      classes: { Qwen2ForCausalLM: defaults(151_936, 4096, 22_016, 32, 32, 32_768, QWEN_DEFAULTS) },
      biases: {},
    },
  },
)

/** GGUF has a fourth section, of no pairs. */
const inSections = (fields: Fields | undefined, key: string, { rope }: ModelConfig): Partial<ModelConfig> =>
  fields?.has(key) ? { rope: { ...rope, sections: fields.numberList(key).slice(0, 3) } } : {}

/** The language model of Qwen2-VL and Qwen2.5-VL. */
export const qwen2vl = family(
  { ...PLAIN, qkvBias: true },
  {
    gguf: {
      architecture: 'qwen2vl',
      pairing: 'halves',
      config: (fields, common) => inSections(fields, 'rope.dimension_sections', common),
    },
    hf: {
      classes: {
        Qwen2VLForConditionalGeneration: defaults(152_064, 8192, 29_568, 80, 64, 32_768, {
          ...QWEN_DEFAULTS,
          num_key_value_heads: 8,
          max_window_layers: 80,
        }),
      },
      biases: {},
      config: (fields, common) => inSections(fullRope(fields), 'mrope_section', common),
    },
  },
)

export const qwen3moe = family(
  { ...PLAIN, headNorms: 'head', mlp: 'experts' },
  {
    gguf: {
      architecture: 'qwen3moe',
      pairing: 'halves',
      config: (fields) => ({
        intermediateSize: fields.number('expert_feed_forward_length'),
        experts: {
          count: fields.number('expert_count'),
          used: fields.number('expert_used_count'),
          normalize: fields.fact('expert_weights_norm', true),
        },
      }),
    },
    hf: {
      classes: {
        Qwen3MoeForCausalLM: defaults(151_936, 2048, 6144, 24, 32, 32_768, {
          num_key_value_heads: 4,
          use_sliding_window: false,
          sliding_window: 4096,
          num_experts: 128,
          num_experts_per_tok: 8,
          moe_intermediate_size: 768,
        }),
      },
      keys: { num_experts: 'num_local_experts' },
      config(fields) {
        const dense = fields.list('mlp_only_layers').length
        if (dense > 0 || fields.number('decoder_sparse_step', 1) !== 1) {
          throw unbuiltVariant(fields.file, 'layers without experts', 'experts in every layer')
        }
        return {
          intermediateSize: fields.number('moe_intermediate_size'),
          experts: {
            count: fields.number('num_experts'),
            used: fields.number('num_experts_per_tok'),
            normalize: fields.fact('norm_topk_prob', false),
          },
        }
      },
    },
  },
)

export const qwen3 = family(
  { ...PLAIN, headNorms: 'head' },
  {
    gguf: { architecture: 'qwen3', pairing: 'halves' },
    hf: {
      classes: {
        Qwen3ForCausalLM: defaults(151_936, 4096, 22_016, 32, 32, 32_768, {
          ...QWEN_DEFAULTS,
          head_dim: 128,
        }),
      },
    },
  },
)
