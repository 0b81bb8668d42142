// Reads what a header says of recurrent layers, under each format's names.
import type { Family, ModelConfig, SsmConfig } from './config.ts'
import { type Fields, unbuiltVariant } from './fields.ts'

/**
 * Least positions of models without attention, whose memory does not depend on them; llama.cpp's converter
 * says the same.
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

/** `fields`: without the architecture's prefix. */
export function ggufSsm(fields: Fields, family: Family): SsmConfig {
  if (fields.fact('ssm.dt_b_c_rms', false)) {
    throw unbuiltVariant(fields.file, 'norms of step sizes, B and C', 'none')
  }
  const steps = fields.number('ssm.time_step_rank')
  const common = {
    innerSize: fields.number('ssm.inner_size'),
    stateSize: fields.number('ssm.state_size'),
    convKernel: fields.number('ssm.conv_kernel'),
    convBias: true,
  }
  if (family === 'mamba') return { kind: 'mamba', ...common, timeStepRank: steps }
  return { kind: 'mamba2', ...common, heads: steps, groups: fields.number('ssm.group_count', 1) }
}

/**
 * Least and most of a step size, as `key` lists them; undefined where nothing is limited. Only Mamba-2 knows
 * them.
 */
export function stepLimit(fields: Fields, key: string): readonly [number, number] | undefined {
  const [least = 0, most = Number.POSITIVE_INFINITY] = fields.numberList(key)
  return least <= 0 && most === Number.POSITIVE_INFINITY ? undefined : [least, most]
}

/**
 * Of `MambaForCausalLM`, `Mamba2ForCausalLM` and, under their names, others; these have defaults of their
 * own.
 */
export function hfSsm(
  fields: Fields,
  family: Family,
  { stateSize = 128, groups = 8, hiddenSize = fields.number('hidden_size') } = {},
): SsmConfig {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  if (fields.fact('use_bias', false)) throw refuse('biases on its projections', 'none')
  if (!fields.fact('rms_norm', true)) throw refuse('no norm after the gate', 'one')
  const isMamba = family === 'mamba'
  const rank = fields.has('time_step_rank') ? fields.either('time_step_rank') : 'auto'
  const common = {
    innerSize: fields.number('inner_size', fields.number('expand', 2) * hiddenSize),
    stateSize: fields.number('state_size', isMamba ? 16 : stateSize),
    convKernel: fields.number('conv_kernel', 4),
    convBias: fields.fact('use_conv_bias', true),
  }
  if (isMamba) {
    const timeStepRank = typeof rank === 'number' ? rank : Math.ceil(hiddenSize / 16)
    return { kind: 'mamba', ...common, timeStepRank }
  }
  return {
    kind: 'mamba2',
    ...common,
    heads: fields.number('num_heads', 128),
    groups: fields.number('n_groups', groups),
    timeStepLimit: stepLimit(fields, 'time_step_limit'),
  }
}

/** What a header says of a model with only recurrent layers, without the sizes that every model has. */
export function hfRecurrent(fields: Fields, family: Family): Omit<ModelConfig, Sizes> {
  return {
    ...NO_ATTENTION,
    ssm: hfSsm(fields.renamed({ inner_size: 'intermediate_size' }), family),
    normEpsilon: fields.number('layer_norm_epsilon', 1e-5),
    contextLength: RECURRENT_CONTEXT,
  }
}
type Sizes = 'family' | 'name' | 'hiddenSize' | 'layers' | 'vocabSize' | 'tiedEmbeddings'
