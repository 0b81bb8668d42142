// OLMoE. In: nothing. Out: OLMoE: experts whose weights are not normalised, norms over whole rows of queries
// and keys.

import { unbuiltVariant } from '../config/refuse.ts'
import { PLAIN } from '../decoder.ts'
import { defaults, family } from '../family.ts'

export const olmoe = family(
  { ...PLAIN, headNorms: 'row', mlp: 'experts' },
  {
    gguf: {
      architecture: 'olmoe',
      pairing: 'halves',
      config: (fields, { intermediateSize }) => ({
        intermediateSize: fields.number('expert_feed_forward_length', intermediateSize),
        experts: {
          count: fields.number('expert_count'),
          used: fields.number('expert_used_count'),
          normalize: fields.fact('expert_weights_norm', false),
        },
      }),
    },
    hf: {
      classes: {
        OlmoeForCausalLM: defaults(50_304, 2048, 2048, 16, 16, 4096, {
          ...{ rms_norm_eps: 1e-5, num_experts: 64, num_experts_per_tok: 8 },
        }),
      },
      keys: { num_experts: 'num_local_experts' },
      config(fields) {
        if (fields.number('clip_qkv', 0) !== 0) {
          throw unbuiltVariant(fields.file, 'queries, keys and values that are clipped', 'none')
        }
        return {
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
