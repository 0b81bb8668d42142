// The feed-forward block of a decoder's layer.
import { matrix } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import { experts } from './experts.ts'
import type { Parts } from './parts.ts'

/** The feed-forward block of one layer. */
export function feedForward(parts: Parts, layer: number, input: Value): Value {
  const at = `layers.${layer}`
  const { b, config, traits, linear, subNorm, biasOf } = parts
  const { hiddenSize, intermediateSize, activation = traits.activation } = config
  if (traits.mlp === 'experts') return experts(parts, at, input)
  const down = (active: Value) =>
    linear(`${at}.mlp_product`, subNorm(`${at}.mlp_sub_norm`, active), `${at}.mlp_down`, hiddenSize, 'mlp')
  if (traits.mlp === 'plain') {
    const up = linear(`${at}.mlp_up`, input, `${at}.mlp_up`, intermediateSize, 'mlp')
    return down(b.swiglu(`${at}.mlp_act`, [up], activation, config.xielu?.[layer]))
  }
  const weight = matrix(hiddenSize, {
    [`${at}.mlp_gate.weight`]: intermediateSize,
    [`${at}.mlp_up.weight`]: intermediateSize,
  })
  const bias = biasOf({ [`${at}.mlp_gate`]: intermediateSize, [`${at}.mlp_up`]: intermediateSize }, 'mlp')
  const gateUp = b.linear(`${at}.mlp_gate_up`, input, weight, bias)
  return down(b.swiglu(`${at}.mlp_act`, b.parts(gateUp, weight), activation, config.xielu?.[layer]))
}
