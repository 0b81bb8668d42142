// mamba_ssm configuration. In: config.json as the original package writes it. Out: the hyperparameters it states.
import type { ModelConfig } from './config.ts'
import { Fields } from './fields.ts'
import { NO_ATTENTION, RECURRENT_CONTEXT, stepLimit } from './recurrent-config.ts'
import { unbuiltVariant } from './refuse.ts'

/** True for config.json of state-spaces/mamba, which names no architecture. */
export const isMambaSsm = (fields: Fields): boolean => fields.has('d_model') && fields.has('ssm_cfg')

/** Throws `architecture` for keys of the wrong type, `unsupported` for layers of attention or an MLP. */
export function mambaSsmConfig(name: string, fields: Fields): ModelConfig {
  const ssm = fields.record('ssm_cfg') ?? Fields.of(fields.file, {})
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  const attention = fields.list('attn_layer_idx').length
  if (attention > 0) throw refuse(`${attention} layers of attention`, 'none')
  const wide = fields.number('d_intermediate', 0)
  if (wide > 0) throw refuse(`MLPs of ${wide}`, 'none')
  if (!fields.fact('rms_norm', true)) throw refuse('LayerNorm', 'RMSNorm')
  const hiddenSize = fields.number('d_model')
  const isMamba = ssm.text('layer', 'Mamba1') === 'Mamba1'
  const innerSize = ssm.number('expand', 2) * hiddenSize
  const rank = ssm.has('dt_rank') ? ssm.either('dt_rank') : 'auto'
  const padding = fields.number('pad_vocab_size_multiple', 8)
  return {
    family: isMamba ? 'mamba' : 'mamba2',
    name,
    hiddenSize,
    layers: fields.number('n_layer'),
    ...NO_ATTENTION,
    vocabSize: Math.ceil(fields.number('vocab_size') / padding) * padding,
    normEpsilon: 1e-5,
    contextLength: RECURRENT_CONTEXT,
    tiedEmbeddings: fields.fact('tie_embeddings', true),
    ssm: {
      innerSize,
      stateSize: ssm.number('d_state', isMamba ? 16 : 128),
      convKernel: ssm.number('d_conv', 4),
      convBias: ssm.fact('conv_bias', true),
      timeStepRank: isMamba ? (typeof rank === 'number' ? rank : Math.ceil(hiddenSize / 16)) : 0,
      heads: isMamba ? 0 : innerSize / ssm.number('headdim', 64),
      groups: isMamba ? 0 : ssm.number('ngroups', 1),
      timeStepLimit: isMamba ? undefined : stepLimit(ssm, 'dt_limit'),
    },
  }
}
