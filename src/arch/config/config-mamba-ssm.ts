// mamba_ssm configuration. In: config.json as the original package writes it. Out: the hyperparameters it
// states.
import type { ModelConfig } from './config.ts'
import { Fields } from './fields.ts'
import { hfSsm, NO_ATTENTION, RECURRENT_CONTEXT } from './recurrent-config.ts'
import { unbuiltVariant } from './refuse.ts'

/** True for config.json of state-spaces/mamba, which names no architecture. */
export const isMambaSsm = (fields: Fields): boolean => fields.has('d_model') && fields.has('ssm_cfg')

/** Its names of what Hugging Face's configurations have. */
const SSM_KEYS = {
  state_size: 'd_state',
  conv_kernel: 'd_conv',
  use_conv_bias: 'conv_bias',
  time_step_rank: 'dt_rank',
  n_groups: 'ngroups',
  time_step_limit: 'dt_limit',
}

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
  const family = ssm.text('layer', 'Mamba1') === 'Mamba1' ? 'mamba' : 'mamba2'
  const own = hfSsm(ssm.renamed(SSM_KEYS), family, { hiddenSize, groups: 1 })
  const padding = fields.number('pad_vocab_size_multiple', 8)
  return {
    family,
    name,
    hiddenSize,
    layers: fields.number('n_layer'),
    ...NO_ATTENTION,
    vocabSize: Math.ceil(fields.number('vocab_size') / padding) * padding,
    normEpsilon: 1e-5,
    contextLength: RECURRENT_CONTEXT,
    tiedEmbeddings: fields.fact('tie_embeddings', true),
    ssm: own.kind === 'mamba' ? own : { ...own, heads: own.innerSize / ssm.number('headdim', 64) },
  }
}
