// Reads the settings of recurrent layers from a header, under each format's names.

import type { MetaValue } from '../../formats/tensors.ts'
import type { DeltaConfig, ModelConfig, SsmConfig } from './config.ts'
import { type Fields, unbuiltVariant } from './fields.ts'

/**
 * Minimum context length of models without attention, whose memory does not grow with it; llama.cpp's
 * converter writes the same number.
 */
export const RECURRENT_CONTEXT = 1 << 20

/** `heads` and related sizes of a family without attention. */
export const NO_ATTENTION = {
  heads: 0,
  kvHeads: 0,
  headDim: 0,
  intermediateSize: 0,
  rope: { theta: 10_000, dims: 0, pairing: 'halves' },
} as const

/** `fields`: access to keys without the architecture's prefix. */
export function ggufSsm(fields: Fields, kind: 'mamba' | 'mamba2'): SsmConfig {
  const isNormed = fields.fact('ssm.dt_b_c_rms', false)
  if (isNormed && kind !== 'mamba') {
    throw unbuiltVariant(fields.file, 'norms of step sizes, B and C', 'none')
  }
  const steps = fields.number('ssm.time_step_rank')
  const common = {
    innerSize: fields.number('ssm.inner_size'),
    stateSize: fields.number('ssm.state_size'),
    convKernel: fields.number('ssm.conv_kernel'),
    convBias: true,
  }
  if (kind === 'mamba') {
    const norms = isNormed
      ? { epsilon: fields.number('attention.layer_norm_rms_epsilon'), haveWeights: false }
      : undefined
    return { kind, ...common, timeStepRank: steps, norms }
  }
  return { kind, ...common, heads: steps, groups: fields.number('ssm.group_count', 1) }
}

/** The smallest and largest step size, listed under `key`; undefined if unlimited. Mamba-2 only. */
export function stepLimit(fields: Fields, key: string): readonly [number, number] | undefined {
  const [least = 0, most = Number.POSITIVE_INFINITY] = fields.numberList(key)
  return least <= 0 && most === Number.POSITIVE_INFINITY ? undefined : [least, most]
}

/**
 * Reads the keys of `MambaForCausalLM`, `Mamba2ForCausalLM` and other classes that use the same names with
 * other defaults.
 */
export function hfSsm(
  fields: Fields,
  kind: 'mamba' | 'mamba2',
  { stateSize = 128, groups = 8, hiddenSize = fields.number('hidden_size') } = {},
): SsmConfig {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  if (fields.fact('use_bias', false)) throw refuse('biases on projections', 'none')
  if (!fields.fact('rms_norm', true)) throw refuse('no norm after the gate', 'one')
  const isMamba = kind === 'mamba'
  const rank = fields.has('time_step_rank') ? fields.either('time_step_rank') : 'auto'
  const common = {
    innerSize: fields.number('inner_size', fields.number('expand', 2) * hiddenSize),
    stateSize: fields.number('state_size', isMamba ? 16 : stateSize),
    convKernel: fields.number('conv_kernel', 4),
    convBias: fields.fact('use_conv_bias', true),
  }
  if (isMamba) {
    const timeStepRank = typeof rank === 'number' ? rank : Math.ceil(hiddenSize / 16)
    // Falcon-Mamba has norms without weights.
    const norms = fields.has('mixer_rms_eps')
      ? { epsilon: fields.number('mixer_rms_eps'), haveWeights: false }
      : undefined
    return { kind, ...common, timeStepRank, norms }
  }
  return {
    kind,
    ...common,
    heads: fields.number('num_heads', 128),
    groups: fields.number('n_groups', groups),
    timeStepLimit: stepLimit(fields, 'time_step_limit'),
  }
}

/** The settings of a purely recurrent model, without the sizes that every model has. */
export function hfRecurrent(fields: Fields, kind: 'mamba' | 'mamba2'): Omit<ModelConfig, Sizes> {
  return {
    ...NO_ATTENTION,
    ssm: hfSsm(fields.renamed({ inner_size: 'intermediate_size' }), kind),
    normEpsilon: fields.number('layer_norm_epsilon', 1e-5),
    contextLength: RECURRENT_CONTEXT,
  }
}
type Sizes = 'family' | 'name' | 'hiddenSize' | 'layers' | 'vocabSize' | 'tiedEmbeddings'

/** The gated delta rule's layers in Qwen3-Next, Qwen3.5 and OLMo Hybrid. */
export function hfDelta(fields: Fields, epsilon: number, betaScale = 1): DeltaConfig {
  const heads = fields.number('linear_num_value_heads')
  return {
    kind: 'delta',
    innerSize: heads * fields.number('linear_value_head_dim'),
    stateSize: fields.number('linear_key_head_dim'),
    convKernel: fields.number('linear_conv_kernel_dim', 4),
    convBias: false,
    heads,
    groups: fields.number('linear_num_key_heads'),
    order: 'grouped',
    betaScale,
    epsilon,
  }
}

/** The layers that `layer_types` lists as attention, under either of its names. */
export function attentionIn(types: readonly MetaValue[]): number[] {
  return [...types.keys()].filter(
    (layer) => types[layer] === 'full_attention' || types[layer] === 'attention',
  )
}
