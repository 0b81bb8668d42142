// Mamba-2. In: hyperparameters. Out: the graph of one step: a state space with one decay per head in each layer.
import { type GraphBuilder, matrix, vector } from '../graph/builder.ts'
import type { Graph, Value } from '../graph/ir.ts'
import type { ModelConfig } from './config.ts'
import { convWeights, recurrentModel, ssmOf } from './mamba.ts'

/** Mamba-2 of Dao and Gu (2024), as `Mamba2ForCausalLM` and mamba_ssm have it. */
export function mamba2(config: ModelConfig): Graph {
  return recurrentModel(config, (b, _, layer, input) => mamba2Layer(b, config, layer, input))
}

/** One layer of Mamba-2, also of hybrids. `epsilon`: of the norm behind the gate, by default the model's. */
export function mamba2Layer(
  b: GraphBuilder,
  config: ModelConfig,
  layer: number,
  input: Value,
  epsilon = config.normEpsilon,
): Value {
  const ssm = ssmOf(config)
  const { innerSize, stateSize, heads, groups } = ssm
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
    { heads, groups },
  )
  const gateNorm = vector({ [`${at}.ssm_gate_norm.weight`]: innerSize })
  const normed = b.rmsnorm(`${at}.ssm_gate_norm`, scanned, gateNorm, epsilon, groups)
  return b.linear(
    `${at}.ssm_product`,
    normed,
    matrix(innerSize, { [`${at}.ssm_output.weight`]: config.hiddenSize }),
  )
}
