// The routed feed-forward block of a decoder's layer.
import { matrix, vector } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { ExpertsConfig } from '../config/config.ts'
import { gatedBlock, plainBlock } from './feed-forward.ts'
import type { Parts } from './parts.ts'

/** Close to the largest f32, so effectively no limit. */
const LARGEST = 3e38

/**
 * Experts: gated feed-forward blocks. Each row passes through a few of them, and through the shared one if
 * there is one.
 */
export function experts(parts: Parts, layer: number, input: Value): Value {
  const at = `layers.${layer}`
  const { b, config, traits } = parts
  const { hiddenSize, experts: choice } = config
  if (choice === undefined) throw new RangeError(`${at} has no experts`)
  const routed = routedBlock(parts, at, input, choice)
  if (choice.shared === undefined) return routed
  const { size, isGated } = choice.shared
  const made = (traits.mlp === 'plain' ? plainBlock : gatedBlock)(parts, `${at}.shared`, input, size)
  if (!isGated) return b.add(`${at}.mlp_all`, routed, made)
  const gate = b.linear(`${at}.shared_gate`, input, matrix(hiddenSize, { [`${at}.shared_gate.weight`]: 1 }))
  return b.add(`${at}.mlp_all`, routed, b.node(`${at}.shared_gated`, { op: 'gateRows', input: made, gate }))
}

function routedBlock({ b, config, traits }: Parts, at: string, input: Value, choice: ExpertsConfig): Value {
  const { hiddenSize, intermediateSize, activation = traits.activation } = config
  const { count, size = intermediateSize, isBiased, limit, shared, denseLayers, ...rule } = choice
  const all = (name: string, n: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, e) => [`${at}.experts.${e}.${name}`, n]))
  const biasOf = (name: string, n: number) =>
    traits.expertBias === true ? vector(all(`${name}.bias`, n)) : undefined
  const routerBias = traits.expertBias === true ? vector({ [`${at}.router.bias`]: count }) : undefined
  const matrixOfRouter = matrix(hiddenSize, { [`${at}.router.weight`]: count })
  const router = b.linear(`${at}.router`, input, matrixOfRouter, routerBias)
  const bias = isBiased === true ? vector({ [`${at}.router_choice.bias`]: count }) : undefined
  return b.routed(`${at}.mlp`, input, router, { ...rule, experts: count, bias }, (rows, linear) => {
    const product = (name: string, from: Value, n: number) =>
      linear(`${at}.${name}`, from, matrix(from.shape[1], all(`${name}.weight`, n)), biasOf(name, n))
    if (traits.mlp === 'plain') {
      return product(
        'mlp_down',
        b.swiglu(`${at}.mlp_act`, [product('mlp_up', rows, size)], activation),
        hiddenSize,
      )
    }
    let gate = product('mlp_gate', rows, size)
    let up = product('mlp_up', rows, size)
    if (limit !== undefined) {
      // 1 is added to the bias of `up` when it is read.
      gate = b.clamp(`${at}.mlp_gate_limited`, gate, { least: -LARGEST, most: limit })
      up = b.clamp(`${at}.mlp_up_limited`, up, { least: 1 - limit, most: 1 + limit })
    }
    return product('mlp_down', b.swiglu(`${at}.mlp_act`, [gate, up], activation), hiddenSize)
  })
}
