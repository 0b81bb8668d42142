// Apertus: norms on each head, and feed-forward blocks whose activation has parameters per layer.

import type { Xielu } from '../../graph/ir.ts'
import { PLAIN } from '../blocks/parts.ts'
import { type Fields, layersOf } from '../config/fields.ts'
import { defaults, family, modules } from '../family.ts'

const softplus = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))

/** The parameters of one layer, as files store them. */
const curve = (above: number, below: number, slope: number, epsilon: number): Xielu => ({
  above: softplus(above),
  below: slope + softplus(below),
  slope,
  epsilon,
})

const SLOPE = 0.5
const EPSILON = -1e-6

/** One number per layer, or one for all layers. */
function perLayer(fields: Fields, name: string, layers: number, fallback?: number): readonly number[] {
  const key = `xielu.${name}`
  return fields.isList(key) ? fields.numberList(key) : Array(layers).fill(fields.number(key, fallback))
}

export const apertus = family(
  { ...PLAIN, headNorms: 'head', mlp: 'plain', activation: 'xielu' },
  {
    gguf: {
      architecture: 'apertus',
      pairing: 'halves',
      config(fields, model) {
        const layers = layersOf(model)
        const below = perLayer(fields, 'alpha_n', layers.length)
        const slopes = perLayer(fields, 'beta', layers.length, SLOPE)
        const epsilons = perLayer(fields, 'eps', layers.length, EPSILON)
        const above = perLayer(fields, 'alpha_p', layers.length)
        return {
          xielu: above.map((each, layer) =>
            curve(
              each,
              below[layer] ?? Number.NaN,
              slopes[layer] ?? Number.NaN,
              epsilons[layer] ?? Number.NaN,
            ),
          ),
        }
      },
    },
    hf: {
      classes: {
        ApertusForCausalLM: defaults(131_072, 4096, 14_336, 32, 32, 65_536, {
          rms_norm_eps: 1e-5,
          rope_theta: 12e6,
        }),
      },
      biases: { qkv: 'attention_bias', output: 'attention_bias' },
      names: modules({
        'layers.N.attn_norm': 'model.layers.N.attention_layernorm',
        'layers.N.mlp_norm': 'model.layers.N.feedforward_layernorm',
      }),
      async stored({ activation = 'xielu', ...model }, vector) {
        if (activation !== 'xielu') return {}
        const curves: Xielu[] = []
        for (const layer of layersOf(model)) {
          const at = `model.layers.${layer}.mlp.act_fn`
          const one = async (name: string) => (await vector(`${at}.${name}`))[0] ?? Number.NaN
          curves.push(curve(await one('alpha_p'), await one('alpha_n'), await one('beta'), await one('eps')))
        }
        return { xielu: curves }
      },
    },
  },
)
