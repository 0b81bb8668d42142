// Mamba and Mamba-2: builds what a layer's state space adds to its normalised input, and the families without
// any other layers.
import { matrix, vector } from '../../graph/builder.ts'
import type { Value, WeightRef } from '../../graph/ir.ts'
import type { Mixer } from '../blocks/parts.ts'
import type { ModelConfig, SsmConfig } from '../config/config.ts'
import type { FamilyFile } from '../family.ts'

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

/** A layer of Mamba of Gu and Dao (2023), as `MambaForCausalLM` and mamba_ssm have it. */
export const mambaLayer: Mixer = ({ b, config }, layer, input) => {
  const ssm = ssmOf(config, 'mamba')
  const { innerSize, stateSize, timeStepRank } = ssm
  const at = `layers.${layer}`
  const inWeight = matrix(config.hiddenSize, {
    [`${at}.ssm_in_x.weight`]: innerSize,
    [`${at}.ssm_in_z.weight`]: innerSize,
  })
  const [inner, z] = b.parts(b.linear(`${at}.ssm_in`, input, inWeight), inWeight) as [Value, Value]
  const x = b.conv1d(`${at}.ssm_conv`, inner, ...convWeights(at, innerSize, ssm))
  const selectWeight = matrix(innerSize, {
    [`${at}.ssm_select_dt.weight`]: timeStepRank,
    [`${at}.ssm_select_bc.weight`]: 2 * stateSize,
  })
  const selected = b.linear(`${at}.ssm_select`, x, selectWeight)
  const [rank, between] = b.parts(selected, selectWeight) as [Value, Value]
  const [enter, leave] = b.columns(between, { b: stateSize, c: stateSize }) as [Value, Value]
  const dt = b.linear(
    `${at}.ssm_dt`,
    rank,
    matrix(timeStepRank, { [`${at}.ssm_dt.weight`]: innerSize }),
    vector({ [`${at}.ssm_dt.bias`]: innerSize }),
  )
  const scanned = b.scan(
    `${at}.ssm_scan`,
    { x, dt, z, b: enter, c: leave },
    {
      decay: matrix(stateSize, { [`${at}.ssm_decay`]: innerSize }),
      skip: vector({ [`${at}.ssm_skip`]: innerSize }),
    },
  )
  return b.linear(
    `${at}.ssm_product`,
    scanned,
    matrix(innerSize, { [`${at}.ssm_output.weight`]: config.hiddenSize }),
  )
}

/** A convolution's weights, and its bias if the model has one. */
export function convWeights(
  at: string,
  channels: number,
  { convKernel, convBias }: SsmConfig,
): [WeightRef, WeightRef | undefined] {
  const weight = matrix(convKernel, { [`${at}.ssm_conv.weight`]: channels })
  return [weight, convBias ? vector({ [`${at}.ssm_conv.bias`]: channels }) : undefined]
}

/** For families with recurrent layers; their configuration has been checked to have them. */
export function ssmOf<K extends SsmConfig['kind']>({ ssm, name }: ModelConfig, kind: K) {
  if (ssm?.kind !== kind) throw new RangeError(`${name} has no layers of ${kind}`)
  return ssm as Extract<SsmConfig, { kind: K }>
}

/**
 * A family with only recurrent layers. Its tensors are in recurrent-names.ts, its keys in
 * recurrent-config.ts.
 */
const recurrent = (mix: Mixer, architecture: string, classes: FamilyFile['hf']['classes']): FamilyFile => ({
  build: (config, decoder) => decoder(config, undefined, mix),
  gguf: { architecture, pairing: 'interleaved' },
  hf: { classes },
})

export const mamba = recurrent(mambaLayer, 'mamba', {
  MambaForCausalLM: {
    vocab_size: 50_280,
    hidden_size: 768,
    num_hidden_layers: 32,
    tie_word_embeddings: true,
  },
})

export const mamba2 = recurrent(mamba2Layer, 'mamba2', {
  Mamba2ForCausalLM: { vocab_size: 32_768, hidden_size: 4096, num_hidden_layers: 64 },
})
