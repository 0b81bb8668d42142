// Llama 1 to 3 and models with the same structure: Mistral, Mixtral, SmolLM, TinyLlama.

import { PLAIN } from '../blocks/parts.ts'
import { ggufExperts } from '../config/experts-config.ts'
import { layersOf, windowOf } from '../config/fields.ts'
import { defaults, family } from '../family.ts'

/** Every fourth layer has no RoPE, unless the file says otherwise. */
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
      // If the file does not list the kinds of layers, those without RoPE have the window.
      const isUnrotated = layersOf({ layers }).map((layer) => unrotatedLayers.includes(layer))
      return {
        unrotatedLayers,
        window:
          sliding && !fields.has('layer_types') ? windowOf(common, sliding.positions, isUnrotated) : sliding,
      }
    },
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
        MistralForCausalLM: defaults(32_000, 4096, 14_336, 32, 32, 131_072, {
          num_key_value_heads: 8,
          sliding_window: 4096,
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
