// Qwen3 MoE. In: nothing. Out: Qwen3 with experts.

import { unbuiltVariant } from '../config/refuse.ts'
import { PLAIN } from '../decoder.ts'
import { defaults, family } from '../family.ts'

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
          ...{ num_key_value_heads: 4, use_sliding_window: false, sliding_window: 4096 },
          ...{ num_experts: 128, num_experts_per_tok: 8, moe_intermediate_size: 768 },
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
