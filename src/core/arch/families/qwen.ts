// Qwen2 and Qwen2.5: Llama with biases on Q, K and V. Qwen2-VL: rotation by height and width too. Qwen2-MoE:
// experts and a shared block. Qwen3: norms on each head's queries and keys instead of biases; dense or with
// experts.

import { PLAIN } from '../blocks/parts.ts'
import type { ExpertsConfig, ModelConfig } from '../config/config.ts'
import { denseLayers, ggufExperts, sharedBlock } from '../config/experts-config.ts'
import { type Fields, unbuiltVariant } from '../config/fields.ts'
import { fullRope } from '../config/hf-rope.ts'
import { defaults, family } from '../family.ts'

/** If windows are used, the layers from `max_window_layers` on have one. */
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

/** GGUF has a fourth section, which is empty. */
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

/** Qwen1.5-MoE and Qwen2-MoE: experts, and a shared block with its own gate. */
export const qwen2moe = family(
  { ...PLAIN, qkvBias: true, mlp: 'experts' },
  {
    gguf: {
      architecture: 'qwen2moe',
      pairing: 'halves',
      config(fields, common) {
        const { experts } = ggufExperts(fields, common, { normalize: false })
        return { experts: experts?.shared && { ...experts, ...sharedBlock(experts.shared.size, true) } }
      },
    },
    hf: {
      classes: {
        Qwen2MoeForCausalLM: defaults(151_936, 2048, 5632, 24, 16, 32_768, {
          ...QWEN_DEFAULTS,
          num_key_value_heads: 16,
          num_experts: 60,
          num_experts_per_tok: 4,
          moe_intermediate_size: 1408,
          shared_expert_intermediate_size: 5632,
        }),
      },
      config(fields, common) {
        if (!fields.fact('qkv_bias', true))
          throw unbuiltVariant(fields.file, 'qkv_bias false', 'qkv_bias true')
        return { experts: hfQwenExperts(fields, common) }
      },
    },
  },
)

/** Experts and a gated shared block, as in Qwen2-MoE and Qwen3-Next. */
export const hfQwenExperts = (fields: Fields, { layers }: Pick<ModelConfig, 'layers'>): ExpertsConfig => ({
  count: fields.number('num_experts'),
  used: fields.number('num_experts_per_tok'),
  size: fields.number('moe_intermediate_size'),
  normalize: fields.fact('norm_topk_prob', false),
  ...sharedBlock(fields.number('shared_expert_intermediate_size'), true),
  ...sparseSteps(fields, layers),
})

/** The layers without experts. Qwen's configurations list them, or space layers with experts evenly. */
function sparseSteps(fields: Fields, layers: number): ReturnType<typeof denseLayers> {
  const listed = fields.numberList('mlp_only_layers')
  const step = fields.number('decoder_sparse_step', 1)
  return denseLayers({ layers }, (layer) => listed.includes(layer) || (layer + 1) % step !== 0)
}

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
      config(fields, { layers }) {
        const size = fields.number('moe_intermediate_size')
        const dense = sparseSteps(fields, layers)
        const experts = {
          count: fields.number('num_experts'),
          used: fields.number('num_experts_per_tok'),
          normalize: fields.fact('norm_topk_prob', false),
        }
        // Packs of models with experts in every layer store only one of the two sizes.
        if (dense.denseLayers === undefined) return { intermediateSize: size, experts }
        return { experts: { ...experts, size, ...dense } }
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
