// A layer with the gated delta rule (Yang et al., 2024), as in Qwen3-Next and OLMo Hybrid.
import { matrix, vector } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { DeltaConfig } from '../config/config.ts'
import type { Mixer } from './parts.ts'
import { convWeights, outputOf, ssmOf } from './recurrent.ts'

/** Channels of the convolution: queries, keys and values. */
export const deltaChannels = ({ groups, stateSize, innerSize }: DeltaConfig): number =>
  2 * groups * stateSize + innerSize

export const deltaLayer: Mixer = (parts, layer, input) => {
  const { b, config } = parts
  const ssm = ssmOf(config, 'delta')
  const { innerSize, heads, groups, stateSize, order, betaScale, epsilon } = ssm
  const at = `layers.${layer}`
  const channels = deltaChannels(ssm)
  const inWeight = matrix(config.hiddenSize, {
    [`${at}.ssm_in_x.weight`]: channels,
    [`${at}.ssm_in_z.weight`]: innerSize,
    [`${at}.ssm_in_beta.weight`]: heads,
    [`${at}.ssm_in_dt.weight`]: heads,
  })
  const inner = b.linear(`${at}.ssm_in`, input, inWeight)
  const [mixed, z, beta, dt] = b.parts(inner, inWeight) as [Value, Value, Value, Value]
  const x = b.conv1d(`${at}.ssm_conv`, mixed, ...convWeights(at, channels, ssm))
  const made = b.node(`${at}.ssm_delta`, {
    op: 'delta',
    x,
    dt,
    beta,
    z,
    decay: vector({ [`${at}.ssm_decay`]: heads }),
    dtBias: vector({ [`${at}.ssm_dt.bias`]: heads }),
    weight: vector({ [`${at}.ssm_gate_norm.weight`]: innerSize / heads }),
    heads,
    keyHeads: groups,
    keyDim: stateSize,
    order,
    channels: false,
    gate: 'silu',
    betaScale,
    epsilon,
  })
  return outputOf(parts, layer, made)
}
