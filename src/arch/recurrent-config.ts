// Recurrent configuration. In: a header's values. Out: what it says of recurrent layers, under each format's names.
import type { Family, Multipliers, SsmConfig } from './config.ts'
import type { Fields } from './fields.ts'
import { unbuiltVariant } from './refuse.ts'

/** Least positions of models without attention, whose memory does not depend on them; llama.cpp's converter says the same. */
export const RECURRENT_CONTEXT = 1 << 20

/** Families without attention and without an MLP. */
export const isPurelyRecurrent = (family: Family): boolean => family === 'mamba' || family === 'mamba2'

/** `heads` and their like of a family without attention. */
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
  const isMamba = family === 'mamba'
  return {
    innerSize: fields.number('ssm.inner_size'),
    stateSize: fields.number('ssm.state_size'),
    convKernel: fields.number('ssm.conv_kernel'),
    convBias: true,
    timeStepRank: isMamba ? steps : 0,
    heads: isMamba ? 0 : steps,
    groups: isMamba ? 0 : fields.number('ssm.group_count', 1),
  }
}

/** Layers that have key and value heads. */
export function ggufAttentionLayers(fields: Fields): { layers: number[]; kvHeads: number } {
  const perLayer = fields.list('attention.head_count_kv').map(Number)
  return {
    layers: perLayer.flatMap((count, layer) => (count > 0 ? [layer] : [])),
    kvHeads: Math.max(0, ...perLayer),
  }
}

/** The attention scale is read by the caller, who knows the heads. */
export function ggufMultipliers(fields: Fields, headDim: number): Multipliers {
  return {
    embedding: fields.number('embedding_scale', 1),
    residual: fields.number('residual_scale', 1),
    attention: fields.number('attention.scale', 1 / Math.sqrt(headDim)),
    logits: 1 / fields.number('logit_scale', 1),
  }
}

/** Of `MambaForCausalLM` and `Mamba2ForCausalLM`. */
export function hfSsm(fields: Fields, family: Family): SsmConfig {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  if (fields.fact('use_bias', false)) throw refuse('biases on its projections', 'none')
  if (!fields.fact('rms_norm', true)) throw refuse('no norm behind the gate', 'one')
  const hiddenSize = fields.number('hidden_size')
  const isMamba = family === 'mamba'
  const rank = fields.has('time_step_rank') ? fields.either('time_step_rank') : 'auto'
  return {
    innerSize: fields.number('intermediate_size', fields.number('expand', 2) * hiddenSize),
    stateSize: fields.number('state_size', isMamba ? 16 : 128),
    convKernel: fields.number('conv_kernel', 4),
    convBias: fields.fact('use_conv_bias', true),
    timeStepRank: isMamba ? (typeof rank === 'number' ? rank : Math.ceil(hiddenSize / 16)) : 0,
    heads: isMamba ? 0 : fields.number('num_heads', 128),
    groups: isMamba ? 0 : fields.number('n_groups', 8),
  }
}

/** Of `GraniteMoeHybridForCausalLM`. */
export function hfGraniteSsm(fields: Fields): SsmConfig {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  if (fields.fact('mamba_proj_bias', false)) throw refuse('biases on its projections', 'none')
  const innerSize = fields.number('mamba_expand', 2) * fields.number('hidden_size')
  return {
    innerSize,
    stateSize: fields.number('mamba_d_state', 256),
    convKernel: fields.number('mamba_d_conv', 4),
    convBias: fields.fact('mamba_conv_bias', true),
    timeStepRank: 0,
    heads: fields.number('mamba_n_heads', 128),
    groups: fields.number('mamba_n_groups', 1),
  }
}

/** Layers whose type is attention. */
export function hfAttentionLayers(fields: Fields): number[] {
  const types = fields.list(fields.has('layer_types') ? 'layer_types' : 'layers_block_type')
  return types.flatMap((type, layer) => (type === 'attention' ? [layer] : []))
}

export function hfMultipliers(fields: Fields, headDim: number): Multipliers {
  return {
    embedding: fields.number('embedding_multiplier', 1),
    residual: fields.number('residual_multiplier', 1),
    attention: fields.number('attention_multiplier', 1 / Math.sqrt(headDim)),
    logits: 1 / fields.number('logits_scaling', 1),
  }
}
