// Mamba and Mamba-2: builds what a layer's state space adds to its normalised input, and the purely recurrent
// families.
import { matrix, vector } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { Mixer, Parts } from '../blocks/parts.ts'
import { convWeights, outputOf, ssmOf } from '../blocks/recurrent.ts'
import type { Mamba1Config } from '../config/config.ts'
import type { FamilyFile } from '../family.ts'

/** A Mamba-2 layer (Dao and Gu, 2024), as in `Mamba2ForCausalLM`, mamba_ssm and hybrids. */
export const mamba2Layer: Mixer = (parts, layer, input) => {
  const { b, config } = parts
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
  const normed =
    ssm.gateNorm === false
      ? scanned
      : b.rmsnorm(`${at}.ssm_gate_norm`, scanned, gateNorm, config.normEpsilon, groups)
  return outputOf(parts, layer, normed)
}

/** A Mamba layer (Gu and Dao, 2023), as in `MambaForCausalLM` and mamba_ssm. */
export const mambaLayer: Mixer = (parts, layer, input) => {
  const { b, config } = parts
  const ssm = ssmOf(config, 'mamba')
  const { innerSize, stateSize, timeStepRank } = ssm
  const at = `layers.${layer}`
  const inWeight = matrix(config.hiddenSize, {
    [`${at}.ssm_in_x.weight`]: innerSize,
    [`${at}.ssm_in_z.weight`]: innerSize,
  })
  const [inner, z] = b.parts(b.linear(`${at}.ssm_in`, input, inWeight), inWeight) as [Value, Value]
  const x = b.conv1d(`${at}.ssm_conv`, inner, ...convWeights(at, innerSize, ssm))
  const [rank, enter, leave] = selection(parts, at, ssm, x)
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
  return outputOf(parts, layer, scanned)
}

/** The inputs of step sizes, and B and C; normalised if the model has norms for them. */
function selection({ b }: Parts, at: string, ssm: Mamba1Config, x: Value): [Value, Value, Value] {
  const { innerSize, stateSize, timeStepRank, norms } = ssm
  if (norms === undefined) {
    const weight = matrix(innerSize, {
      [`${at}.ssm_select_dt.weight`]: timeStepRank,
      [`${at}.ssm_select_bc.weight`]: 2 * stateSize,
    })
    const [rank, between] = b.parts(b.linear(`${at}.ssm_select`, x, weight), weight) as [Value, Value]
    const [enter, leave] = b.columns(between, { b: stateSize, c: stateSize }) as [Value, Value]
    return [rank, enter, leave]
  }
  const normed = (name: string, n: number): Value => {
    const made = b.linear(
      `${at}.ssm_select_${name}`,
      x,
      matrix(innerSize, { [`${at}.ssm_select_${name}.weight`]: n }),
    )
    const weight = vector({ [`${at}.ssm_${name}_norm.weight`]: n })
    return b.rmsnorm(`${at}.ssm_${name}_norm`, made, weight, norms.epsilon)
  }
  return [normed('dt', timeStepRank), normed('b', stateSize), normed('c', stateSize)]
}

/** A purely recurrent family. Its tensors are in recurrent-names.ts, its keys in recurrent-config.ts. */
const recurrent = (
  mix: Mixer,
  architecture: 'mamba' | 'mamba2',
  classes: FamilyFile['hf']['classes'],
): FamilyFile => ({
  recurrence: architecture,
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
  FalconMambaForCausalLM: {
    vocab_size: 50_280,
    hidden_size: 768,
    num_hidden_layers: 32,
    tie_word_embeddings: true,
    mixer_rms_eps: 1e-6,
  },
})

export const mamba2 = recurrent(mamba2Layer, 'mamba2', {
  Mamba2ForCausalLM: { vocab_size: 32_768, hidden_size: 4096, num_hidden_layers: 64 },
})
