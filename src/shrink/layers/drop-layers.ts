// Leaves whole layers out of a model. In: a prepared model, layers to drop. Out: the contents of a pack whose
// layers have consecutive numbers.
import type { ModelConfig } from '../../arch/config/config.ts'
import { storedConfig } from '../../arch/config/config-hbm.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { type PackCard, packContents } from '../../engine/load/pack-model.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import type { PackContents } from '../../formats/hbm/hbm-writer.ts'
import type { MetaObject } from '../../formats/json-files.ts'

const LAYER = /^layers\.(\d+)\./

/** The layer that a weight belongs to, by its canonical name. */
export function layerOf(weight: string): number | undefined {
  const [, number] = LAYER.exec(weight) ?? []
  return number === undefined ? undefined : Number(number)
}

/** Layers of the least influence, as many as asked for, in the model's order. */
export const leastInfluential = (influence: readonly number[], count: number): number[] =>
  [...influence.keys()]
    .sort((a, b) => influence[a]! - influence[b]! || a - b)
    .slice(0, count)
    .sort((a, b) => a - b)

/**
 * Throws `unsupported` for a model whose layers are not alike, so that leaving one out would break the order
 * of their kinds, and where no layer would be left.
 */
export function checkDroppable(config: ModelConfig, count: number): void {
  const { layers, name } = config
  const kinds = differenceOf(config)
  if (kinds !== undefined) {
    throw new HalfbyteError(
      'unsupported',
      `the layers of ${name} are not alike: ${kinds}; dropping one would change what the others are, so leave --drop-layers out`,
      { family: config.family },
    )
  }
  if (count < layers) return
  throw new HalfbyteError(
    'unsupported',
    `${name} has ${layers} layers and ${count} are to be dropped; drop at most ${layers - 1}`,
    { layers, dropped: count },
  )
}

function differenceOf(config: ModelConfig): string | undefined {
  const { layers, attentionLayers, window: sliding, unrotatedLayers, dividedByLayer } = config
  if (attentionLayers !== undefined) return `${attentionLayers.length} of ${layers} have attention`
  if (sliding !== undefined && sliding.layers.length < layers) {
    return `${sliding.layers.length} of ${layers} attend to a window only`
  }
  if (unrotatedLayers !== undefined && unrotatedLayers.length < layers) {
    return `${unrotatedLayers.length} of ${layers} do not rotate`
  }
  return dividedByLayer === true ? "each divides attention's scores by its number" : undefined
}

/** `dropped`: in the model's order, checked. The other weights stay in the encodings of the plan. */
export async function withoutLayers(
  prepared: PreparedModel,
  dropped: readonly number[],
  card: PackCard,
): Promise<PackContents> {
  const { config } = prepared
  const kept = Array.from({ length: config.layers }, (_, layer) => layer).filter(
    (layer) => !dropped.includes(layer),
  )
  const numbers = new Map(kept.map((layer, at) => [layer, at]))
  const contents = await packContents(prepared, card)
  const tensors = contents.tensors.flatMap((tensor) => {
    const layer = layerOf(tensor.name)
    if (layer === undefined) return [tensor]
    const number = numbers.get(layer)
    return number === undefined ? [] : [{ ...tensor, name: tensor.name.replace(LAYER, `layers.${number}.`) }]
  })
  const all = kept.map((_, at) => at)
  const { window: sliding, unrotatedLayers, ...others } = config
  const own: ModelConfig = {
    ...others,
    layers: kept.length,
    ...(sliding !== undefined && { window: { ...sliding, layers: all } }),
    ...(unrotatedLayers !== undefined && { unrotatedLayers: unrotatedLayers.length === 0 ? [] : all }),
    name: contents.name,
  }
  return { ...contents, tensors, config: storedConfig(own) as MetaObject }
}
