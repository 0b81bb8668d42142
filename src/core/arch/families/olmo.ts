// OLMo 1: layer norms without weights; clipped queries, keys and values. OLMo 2 and 3: norms on block
// outputs, and on whole rows of queries and keys. OLMoE: experts whose weights are not normalised.

import { PLAIN } from '../blocks/parts.ts'
import { localRope } from '../config/hf-rope.ts'
import { defaults, family, type Names, ones } from '../family.ts'

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
          rms_norm_eps: 1e-5,
          num_experts: 64,
          num_experts_per_tok: 8,
        }),
      },
      keys: { num_experts: 'num_local_experts' },
      config(fields) {
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

const UNWEIGHTED: Names = {
  'norm.weight': ones,
  'layers.N.attn_norm.weight': ones,
  'layers.N.mlp_norm.weight': ones,
}

export const olmo = family(
  { ...PLAIN, norm: 'layer' },
  {
    gguf: { architecture: 'olmo', pairing: 'interleaved', names: UNWEIGHTED },
    hf: {
      classes: { OlmoForCausalLM: defaults(50_304, 4096, 11_008, 32, 32, 2048, { rms_norm_eps: 1e-5 }) },
      biases: { qkv: 'attention_bias', output: 'attention_bias' },
      names: UNWEIGHTED,
    },
  },
)

const SIZES = defaults(50_304, 4096, 11_008, 32, 32, 2048, { rms_norm_eps: 1e-5 })

export const olmo2 = family(
  { ...PLAIN, norms: 'after', headNorms: 'row' },
  {
    gguf: {
      architecture: 'olmo2',
      pairing: 'halves',
      windowPeriod: 4,
      // Frequencies are scaled only in layers without a window.
      config: (_, { rope, window }) => ({ localRope: window && { ...rope, scaling: undefined } }),
    },
    hf: {
      classes: {
        Olmo2ForCausalLM: SIZES,
        Olmo3ForCausalLM: { ...SIZES, rope_theta: 5e5, sliding_window: 4096, sliding_window_pattern: 4 },
      },
      config: (fields, common) => ({
        localRope: common.window && localRope(fields, common, common.rope.theta),
      }),
    },
  },
)
