// Reads the settings of experts and of latent attention that several families share.
import { roundUp } from '../../abi/encodings.ts'
import type { ExpertsConfig, LatentConfig, ModelConfig, RopeConfig } from './config.ts'
import { type Fields, layersOf, unbuiltVariant } from './fields.ts'

/** The layers without experts, as the field `denseLayers` stores them. */
export function denseLayers(
  model: Pick<ModelConfig, 'layers'>,
  isDense: (layer: number) => boolean,
): Pick<ExpertsConfig, 'denseLayers'> {
  const those = layersOf(model).filter(isDense)
  return those.length === 0 ? {} : { denseLayers: those }
}

/**
 * The field `shared`: a block in addition to the experts, with `size` inner values; undefined if `size` is 0.
 */
export const sharedBlock = (size: number, isGated = false): Pick<ExpertsConfig, 'shared'> =>
  size === 0 ? {} : { shared: { size, isGated } }

/** Scoring functions of `expert_gating_func`; the third is a softmax over the chosen experts. */
const SCORING: ReadonlyMap<number, Partial<ExpertsConfig>> = new Map([
  [1, {}],
  [2, { scoring: 'sigmoid' }],
  [3, { normalize: true }],
])

/**
 * The field `experts` according to a GGUF header; absent if it states no experts. `family`: values that the
 * family's files omit.
 */
export function ggufExperts(
  fields: Fields,
  { layers, intermediateSize }: ModelConfig,
  family: Partial<ExpertsConfig> = {},
): Pick<ModelConfig, 'experts'> {
  const count = fields.number('expert_count', 0)
  if (count === 0) return {}
  const size = fields.number('expert_feed_forward_length', intermediateSize)
  const rule = fields.number('expert_gating_func', 0)
  const scoring = rule === 0 ? {} : SCORING.get(rule)
  if (scoring === undefined) throw unbuiltVariant(fields.file, `the expert_gating_func ${rule}`, '1 to 3')
  const isSigmoid = { ...family, ...scoring }.scoring === 'sigmoid'
  const groups = fields.number('expert_group_count', 1)
  const scale = fields.number('expert_weights_scale', 1)
  const shared = fields.number(
    'expert_shared_feed_forward_length',
    fields.number('expert_shared_count', 0) * size,
  )
  const dense = fields.number('leading_dense_block_count', 0)
  const step = fields.number('interleave_moe_layer_step', 1)
  const experts = {
    count,
    used: fields.number('expert_used_count'),
    normalize: false,
    ...(size !== intermediateSize && { size }),
    ...sharedBlock(shared),
    ...denseLayers({ layers }, (layer) => layer < dense || (layer + 1) % step !== 0),
    ...family,
    ...scoring,
    ...(fields.has('expert_weights_norm') && { normalize: fields.fact('expert_weights_norm') }),
    ...(scale !== 0 && scale !== 1 && { scale }),
    ...(groups > 1 && {
      groups: { count: groups, used: fields.number('expert_group_used_count'), best: isSigmoid ? 2 : 1 },
    }),
  }
  return { experts }
}

/**
 * The part of a configuration that follows from latent attention: the width of heads, their rotation and
 * scale.
 */
export function latentConfig(
  { heads }: Pick<ModelConfig, 'heads'>,
  latent: LatentConfig,
  rope: RopeConfig,
  scale = 1,
): Partial<ModelConfig> {
  const keyDim = latent.plainDim + rope.dims
  return {
    kvHeads: heads,
    headDim: roundUp(Math.max(keyDim, latent.valueDim), 4),
    latent,
    rope,
    attentionScale: scale / Math.sqrt(keyDim),
  }
}
