// Mamba-2. In: a layer's normalised input. Out: what its state space with one decay per head adds.
import { matrix, vector } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { Mixer } from '../decoder.ts'
import { convWeights, ssmOf } from './mamba.ts'

/** A layer of Mamba-2 of Dao and Gu (2024), as `Mamba2ForCausalLM` and mamba_ssm have it, and of hybrids. */
export const mamba2Layer: Mixer = ({ b, config }, layer, input) => {
  const ssm = ssmOf(config, 'mamba2')
  const { innerSize, stateSize, heads, groups, timeStepLimit: stepLimit } = ssm
  const at = `layers.${layer}`
  const widths = { x: innerSize, b: groups * stateSize, c: groups * stateSize }
  const channels = innerSize + 2 * groups * stateSize
  const inWeight = matrix(config.hiddenSize, {
    [`${at}.ssm_in_z.weight`]: innerSize,
    [`${at}.ssm_in_x.weight`]: channels,
    [`${at}.ssm_in_dt.weight`]: heads,
  })
  const inner = b.linear(`${at}.ssm_in`, input, inWeight)
  const [z, mixed, dt] = b.parts(inner, inWeight) as [Value, Value, Value]
  const convolved = b.conv1d(`${at}.ssm_conv`, mixed, ...convWeights(at, channels, ssm))
  const [x, enter, leave] = b.columns(convolved, widths) as [Value, Value, Value]
  const perHead = (name: string) => vector({ [`${at}.${name}`]: heads })
  const scanned = b.ssd(
    `${at}.ssm_ssd`,
    { x, dt, z, b: enter, c: leave },
    { decay: perHead('ssm_decay'), skip: perHead('ssm_skip'), dtBias: perHead('ssm_dt.bias') },
    { heads, groups, stepLimit },
  )
  const gateNorm = vector({ [`${at}.ssm_gate_norm.weight`]: innerSize })
  const normed = b.rmsnorm(`${at}.ssm_gate_norm`, scanned, gateNorm, config.normEpsilon, groups)
  return b.linear(
    `${at}.ssm_product`,
    normed,
    matrix(innerSize, { [`${at}.ssm_output.weight`]: config.hiddenSize }),
  )
}
