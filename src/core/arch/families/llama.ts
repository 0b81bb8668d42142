// Llama 1 to 3 and models with the same structure: Mistral, Mixtral, Ministral, InternLM 3, SmolLM,
// TinyLlama.

import { PLAIN } from '../blocks/parts.ts'
import type { ModelConfig } from '../config/config.ts'
import { ggufExperts } from '../config/experts-config.ts'
import { type Fields, layersOf, windowOf } from '../config/fields.ts'
import { fullRope } from '../config/hf-rope.ts'
import { defaults, family, NO_GGUF } from '../family.ts'

/** Every fourth layer lacks RoPE, unless the file says otherwise. */
const PERIOD = 4
const everyNth = (layers: number, period: number): number[] =>
  layersOf({ layers }).filter((layer) => (layer + 1) % period === 0)

export const smollm3 = family(PLAIN, {
  gguf: {
    architecture: 'smollm3',
    pairing: 'interleaved',
    config: (_, { layers }) => ({ unrotatedLayers: everyNth(layers, PERIOD) }),
  },
  hf: {
    classes: {
      SmolLM3ForCausalLM: defaults(128_256, 2048, 11_008, 36, 16, 32_768, {
        num_key_value_heads: 4,
        rope_theta: 2e6,
        tie_word_embeddings: true,
        use_sliding_window: false,
        sliding_window: 0,
      }),
    },
    config(fields, common) {
      const { layers, window: sliding } = common
      const rotated = fields.list('no_rope_layers')
      const unrotatedLayers =
        rotated.length > 0
          ? [...rotated.keys()].filter((layer) => rotated[layer] === 0)
          : everyNth(layers, fields.number('no_rope_layer_interval', PERIOD))
      // If the file does not list layer types, the layers without RoPE have the window.
      const isUnrotated = layersOf({ layers }).map((layer) => unrotatedLayers.includes(layer))
      return {
        unrotatedLayers,
        window:
          sliding && !fields.has('layer_types') ? windowOf(common, sliding.positions, isUnrotated) : sliding,
      }
    },
  },
})

const MISTRAL = defaults(32_000, 4096, 14_336, 32, 32, 131_072, {
  num_key_value_heads: 8,
  sliding_window: 4096,
})

/** Queries are scaled by their position. */
export const mistral3 = family(PLAIN, {
  gguf: {
    architecture: 'mistral3',
    pairing: 'interleaved',
    config: (fields) =>
      queryScale(
        fields.number('attention.temperature_scale', 0),
        fields,
        'rope.scaling.original_context_length',
      ),
  },
  hf: {
    classes: {
      Ministral3ForCausalLM: defaults(131_072, 4096, 14_336, 34, 32, 262_144, {
        num_key_value_heads: 8,
        head_dim: 128,
        rms_norm_eps: 1e-5,
        rope_theta: 1e6,
        sliding_window: 0,
      }),
    },
    config(fields) {
      const rope = fullRope(fields) ?? fields
      return queryScale(rope.number('llama_4_scaling_beta', 0), rope, 'original_max_position_embeddings')
    },
  },
})

const queryScale = (beta: number, fields: Fields, key: string): Partial<ModelConfig> =>
  beta === 0 ? {} : { queryScale: { beta, length: fields.number(key) } }

const INTERNLM3 = defaults(128_512, 4096, 10_240, 48, 32, 32_768, {
  num_key_value_heads: 2,
  head_dim: 128,
  rms_norm_eps: 1e-5,
})

/** Its keys for biases have different names. */
export const internlm3 = family(PLAIN, {
  gguf: NO_GGUF,
  hf: {
    classes: { InternLM3ForCausalLM: INTERNLM3, internlm3: INTERNLM3 },
    keys: { attention_bias: 'qkv_bias', mlp_bias: 'bias' },
    biases: { qkv: 'attention_bias', output: 'mlp_bias', mlp: 'mlp_bias' },
  },
})

export const llama = family(
  { ...PLAIN, mayHaveExperts: true },
  {
    gguf: {
      architecture: 'llama',
      pairing: 'interleaved',
      config: (fields, common) => ggufExperts(fields, common, { normalize: true }),
    },
    hf: {
      classes: {
        MixtralForCausalLM: defaults(32_000, 4096, 14_336, 32, 32, 131_072, {
          num_key_value_heads: 8,
          rms_norm_eps: 1e-5,
          rope_theta: 1e6,
          sliding_window: 0,
          num_local_experts: 8,
          num_experts_per_tok: 2,
        }),
        LlamaForCausalLM: defaults(32_000, 4096, 11_008, 32, 32, 2048),
        MistralForCausalLM: MISTRAL,
        MinistralForCausalLM: MISTRAL,
        IQuestCoderForCausalLM: defaults(76_800, 5120, 27_648, 80, 40, 131_072, {
          num_key_value_heads: 8,
          head_dim: 128,
          rms_norm_eps: 1e-5,
        }),
      },
      config: (fields, _, listed) =>
        listed === 'MixtralForCausalLM'
          ? {
              experts: {
                count: fields.number('num_local_experts'),
                used: fields.number('num_experts_per_tok'),
                normalize: true,
              },
            }
          : {},
    },
  },
)
