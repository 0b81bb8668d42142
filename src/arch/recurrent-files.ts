// Recurrent files. In: a header of a model with recurrent layers. Out: the hyperparameters it states, not yet validated.
import type { Family, ModelConfig, RopeScaling } from './config.ts'
import type { Fields } from './fields.ts'
import {
  ggufAttentionLayers,
  ggufMultipliers,
  ggufSsm,
  hfAttentionLayers,
  hfGraniteSsm,
  hfMultipliers,
  hfSsm,
  isPurelyRecurrent,
  NO_ATTENTION,
  RECURRENT_CONTEXT,
} from './recurrent-config.ts'
import { unbuiltVariant } from './refuse.ts'

type Common = 'family' | 'name' | 'vocabSize' | 'contextLength' | 'tiedEmbeddings'

/** `fields`: without the architecture's prefix. `scaling` reads that of RoPE, where there is one. */
export function recurrentGguf(
  fields: Fields,
  family: Family,
  scaling: () => RopeScaling | undefined,
): Omit<ModelConfig, Common> {
  const common = {
    hiddenSize: fields.number('embedding_length'),
    layers: fields.number('block_count'),
    ssm: ggufSsm(fields, family),
    normEpsilon: fields.number('attention.layer_norm_rms_epsilon'),
  }
  if (isPurelyRecurrent(family)) return { ...common, ...NO_ATTENTION }
  const heads = fields.number('attention.head_count')
  const headDim = fields.number('attention.key_length', common.hiddenSize / heads)
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  const experts = fields.number('expert_count', 0)
  if (experts > 0) throw refuse(`${experts} experts`, 'one dense MLP per layer')
  const valueDim = fields.number('attention.value_length', headDim)
  if (valueDim !== headDim) throw refuse(`keys of ${headDim} and values of ${valueDim}`, 'equal lengths')
  const isTurned = fields.fact('rope.scaling.finetuned', true)
  const { kvHeads, layers } = ggufAttentionLayers(fields)
  return {
    ...common,
    heads,
    kvHeads,
    headDim,
    intermediateSize: fields.number('feed_forward_length'),
    attentionLayers: layers,
    multipliers: ggufMultipliers(fields, headDim),
    rope: {
      theta: fields.number('rope.freq_base', 10_000),
      dims: isTurned ? fields.number('rope.dimension_count', headDim) : 0,
      pairing: 'interleaved',
      scaling: isTurned ? scaling() : undefined,
    },
  }
}

/** The same of config.json. */
export function recurrentHf(
  fields: Fields,
  family: Family,
  scaling: () => RopeScaling | undefined,
): Omit<ModelConfig, 'family' | 'name'> {
  refuseVariants(fields, family)
  const common = {
    hiddenSize: fields.number('hidden_size'),
    layers: fields.number('num_hidden_layers'),
    vocabSize: fields.number('vocab_size'),
    tiedEmbeddings: fields.fact('tie_word_embeddings', family === 'mamba'),
  }
  if (isPurelyRecurrent(family)) {
    return {
      ...common,
      ...NO_ATTENTION,
      ssm: hfSsm(fields, family),
      normEpsilon: fields.number('layer_norm_epsilon', 1e-5),
      contextLength: RECURRENT_CONTEXT,
    }
  }
  const heads = fields.number('num_attention_heads')
  const headDim = fields.number('head_dim', common.hiddenSize / heads)
  const isTurned = fields.text('position_embedding_type', 'nope') === 'rope'
  const rope = fields.record('rope_parameters')
  return {
    ...common,
    heads,
    kvHeads: fields.number('num_key_value_heads', heads),
    headDim,
    intermediateSize: fields.number('shared_intermediate_size'),
    ssm: hfGraniteSsm(fields),
    attentionLayers: hfAttentionLayers(fields),
    multipliers: hfMultipliers(fields, headDim),
    normEpsilon: fields.number('rms_norm_eps', 1e-6),
    rope: {
      theta: (rope ?? fields).number('rope_theta', 10_000),
      dims: isTurned ? headDim * (rope ?? fields).number('partial_rotary_factor', 1) : 0,
      pairing: 'halves',
      scaling: isTurned ? scaling() : undefined,
    },
    contextLength: fields.number('max_position_embeddings'),
  }
}

function refuseVariants(fields: Fields, family: Family): void {
  const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
  const activation = fields.text('hidden_act', 'silu')
  if (activation !== 'silu') throw refuse(`the activation "${activation}"`, 'silu')
  const experts = fields.number('num_local_experts', 0)
  if (experts > 0) throw refuse(`${experts} experts`, 'one dense MLP per layer')
  for (const bias of isPurelyRecurrent(family) ? ['mlp_bias'] : ['attention_bias', 'mlp_bias']) {
    if (fields.fact(bias, false)) throw refuse(`the biases of ${bias}`, 'none')
  }
}
