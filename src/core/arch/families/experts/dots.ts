// dots.llm1: Qwen3's attention, with norms on each head's queries and keys, and DeepSeek V3's experts.
import { PLAIN } from '../../blocks/parts.ts'
import { defaults, family } from '../../family.ts'
import { ggufDeepseekExperts, hfDeepseekExperts } from './deepseek.ts'

export const dots1 = family(
  { ...PLAIN, headNorms: 'head', mlp: 'experts' },
  {
    gguf: {
      architecture: 'dots1',
      pairing: 'halves',
      config: ggufDeepseekExperts,
    },
    hf: {
      classes: {
        Dots1ForCausalLM: defaults(152_064, 4608, 10_944, 62, 32, 2048, {
          sliding_window: 4096,
          max_window_layers: 62,
          first_k_dense_replace: 0,
          norm_topk_prob: false,
          routed_scaling_factor: 1,
          moe_intermediate_size: 1408,
        }),
      },
      config: (fields, common) => hfDeepseekExperts(fields, common, true),
    },
  },
)
