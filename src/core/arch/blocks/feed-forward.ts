// The feed-forward block of a decoder's layer.
import type { Value, Xielu } from '../../graph/ir.ts'
import { mlpSizeOf } from '../config/layer-sizes.ts'
import type { Parts } from './parts.ts'
import { channelMix } from './rwkv.ts'

/** The feed-forward block of a layer without experts. */
export function feedForward(parts: Parts, layer: number, input: Value): Value {
  const at = `layers.${layer}`
  const { config, traits } = parts
  const size = mlpSizeOf(config, layer)
  const xielu = config.xielu?.[layer]
  const cutoff = config.gateCutoffs?.find((each) => each.layer === layer)?.deviations
  if (traits.mlp === 'shifted') return channelMix(parts, layer, input)
  if (traits.mlp !== 'plain') return gatedBlock(parts, at, input, size, { xielu, cutoff })
  return plainBlock(parts, at, input, size, xielu)
}

/** A block with `size` inner values and no gate. `at`: the prefix of its weights' names. */
export function plainBlock(
  { b, config, traits, linear, subNorm }: Parts,
  at: string,
  input: Value,
  size: number,
  xielu?: Xielu,
): Value {
  const { hiddenSize, activation = traits.activation } = config
  const up = linear(`${at}.mlp_up`, input, `${at}.mlp_up`, size, 'mlp')
  const active = b.swiglu(`${at}.mlp_act`, [up], activation, xielu)
  const normed = subNorm(`${at}.mlp_sub_norm`, active)
  return linear(`${at}.mlp_product`, normed, `${at}.mlp_down`, hiddenSize, 'mlp')
}

/**
 * A gated block with `size` inner values. `at`: the prefix of its weights' names. `cutoff`: the gate keeps
 * only values that are at least this many standard deviations above the mean.
 */
export function gatedBlock(
  { b, config, traits, linear, linears, subNorm }: Parts,
  at: string,
  input: Value,
  size: number,
  { xielu, cutoff }: { readonly xielu?: Xielu | undefined; readonly cutoff?: number | undefined } = {},
): Value {
  const { hiddenSize, activation = traits.activation } = config
  const names = { [`${at}.mlp_gate`]: size, [`${at}.mlp_up`]: size }
  const [gate, up] = linears(`${at}.mlp_gate_up`, input, names, 'mlp') as [Value, Value]
  const kept =
    cutoff === undefined ? gate : b.node(`${at}.mlp_kept`, { op: 'cutLow', input: gate, deviations: cutoff })
  const gated = b.swiglu(`${at}.mlp_act`, [kept, up], activation, xielu)
  return linear(
    `${at}.mlp_product`,
    subNorm(`${at}.mlp_sub_norm`, gated),
    `${at}.mlp_down`,
    hiddenSize,
    'mlp',
  )
}
