// The feed-forward block of a decoder's layer.
import { matrix } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { Parts } from './parts.ts'

/** The feed-forward block without experts of the layer named `at`. */
export function feedForward(parts: Parts, at: string, input: Value): Value {
  const { b, config, traits, linear } = parts
  const { hiddenSize, intermediateSize, activation = traits.activation } = config
  if (traits.mlp !== 'plain') return gatedBlock(parts, at, input, intermediateSize)
  const up = linear(`${at}.mlp_up`, input, `${at}.mlp_up`, intermediateSize)
  const active = b.swiglu(`${at}.mlp_act`, [up], activation)
  return linear(`${at}.mlp_product`, active, `${at}.mlp_down`, hiddenSize)
}

/** A gated block of `size` inner values, whose weights' names begin with `at`. */
export function gatedBlock(
  { b, config, traits, linear }: Parts,
  at: string,
  input: Value,
  size: number,
): Value {
  const { hiddenSize, activation = traits.activation } = config
  const weight = matrix(hiddenSize, { [`${at}.mlp_gate.weight`]: size, [`${at}.mlp_up.weight`]: size })
  const gateUp = b.linear(`${at}.mlp_gate_up`, input, weight)
  const gated = b.swiglu(`${at}.mlp_act`, b.parts(gateUp, weight), activation)
  return linear(`${at}.mlp_product`, gated, `${at}.mlp_down`, hiddenSize)
}
