// SmolLM3. In: nothing. Out: SmolLM3: Llama with layers that do not rotate.
import { PLAIN } from './decoder.ts'
import { family } from './family.ts'
import { layersOf } from './sliding.ts'

/** Every fourth layer, unless the file says otherwise. */
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
    classes: ['SmolLM3ForCausalLM'],
    tied: true,
    windowIsOptional: true,
    config(fields, { layers }) {
      const rotated = fields.list('no_rope_layers')
      const unrotatedLayers =
        rotated.length > 0
          ? [...rotated.keys()].filter((layer) => rotated[layer] === 0)
          : everyNth(layers, fields.number('no_rope_layer_interval', PERIOD))
      return { unrotatedLayers }
    },
  },
})
