// The feed-forward block of a decoder's layer.
import { matrix } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import { experts } from './experts.ts'
import type { Parts } from './parts.ts'

/** The feed-forward block of the layer named `at`. */
export function feedForward(parts: Parts, at: string, input: Value): Value {
  const { b, config, traits, linear } = parts
  const { hiddenSize, intermediateSize, activation = traits.activation } = config
  if (traits.mlp === 'experts') return experts(parts, at, input)
  if (traits.mlp === 'plain') {
    const up = linear(`${at}.mlp_up`, input, `${at}.mlp_up`, intermediateSize)
    const active = b.swiglu(`${at}.mlp_act`, [up], activation)
    return linear(`${at}.mlp_product`, active, `${at}.mlp_down`, hiddenSize)
  }
  const weight = matrix(hiddenSize, {
    [`${at}.mlp_gate.weight`]: intermediateSize,
    [`${at}.mlp_up.weight`]: intermediateSize,
  })
  const gateUp = b.linear(`${at}.mlp_gate_up`, input, weight)
  const gated = b.swiglu(`${at}.mlp_act`, b.parts(gateUp, weight), activation)
  return linear(`${at}.mlp_product`, gated, `${at}.mlp_down`, hiddenSize)
}
