// Leaves whole layers out of a model. In: a prepared model, layers to drop. Out: a model whose layers have
// consecutive numbers, to be packed.
import type { ModelConfig } from '../../../core/arch/config/config.ts'
import { familyFile } from '../../../core/arch/families.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'

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
  const isMixed = (own: readonly number[]) => own.length > 0 && own.length < layers
  if (attentionLayers !== undefined && isMixed(attentionLayers)) {
    return `${attentionLayers.length} of ${layers} have attention`
  }
  if (sliding !== undefined && sliding.layers.length < layers) {
    return `${sliding.layers.length} of ${layers} attend to a window only`
  }
  if (unrotatedLayers !== undefined && isMixed(unrotatedLayers)) {
    return `${unrotatedLayers.length} of ${layers} do not rotate`
  }
  if (config.xielu !== undefined) return 'each has an activation of its own'
  const { denseLayers = [] } = config.experts ?? {}
  if (isMixed(denseLayers)) return `${denseLayers.length} of ${layers} have no experts`
  if (familyFile(config.family).traits?.firstNorm === false) return 'the first one lacks a norm'
  return dividedByLayer === true ? "each divides attention's scores by its number" : undefined
}

/** Layers that are left, in the model's order. */
export const keptLayers = (layers: number, dropped: readonly number[]): number[] =>
  Array.from({ length: layers }, (_, layer) => layer).filter((layer) => !dropped.includes(layer))

/** A weight's name when its layer has another number. */
export const renumbered = (weight: string, layer: number): string => weight.replace(LAYER, `layers.${layer}.`)

/** The model to be packed. `dropped`: in the model's order, checked. The other weights stay as they are. */
export function withoutLayers(prepared: PreparedModel, dropped: readonly number[]): PreparedModel {
  const { config, plan, weights } = prepared
  const kept = keptLayers(config.layers, dropped)
  const numbers = new Map(kept.map((layer, at) => [layer, at]))
  /** Undefined for weights of layers that are gone. */
  const nameOf = (weight: string): string | undefined => {
    const layer = layerOf(weight)
    if (layer === undefined) return weight
    const number = numbers.get(layer)
    return number === undefined ? undefined : renumbered(weight, number)
  }
  const left = [...weights].flatMap(([name, tensor]) => {
    const own = nameOf(name)
    return own === undefined ? [] : [[own, tensor] as const]
  })
  const slots = plan.slots.flatMap((slot) => {
    const parts = slot.ref.parts.flatMap((part) => {
      const name = nameOf(part.name)
      return name === undefined ? [] : [{ ...part, name }]
    })
    return parts.length === 0 ? [] : [{ ...slot, ref: { ...slot.ref, parts } }]
  })
  const all = kept.map((_, at) => at)
  const { window: sliding, unrotatedLayers, attentionLayers, ...others } = config
  /** Of layers that are all alike. */
  const ofAll = (own: readonly number[]) => (own.length === 0 ? [] : all)
  const own: ModelConfig = {
    ...others,
    layers: kept.length,
    ...(sliding !== undefined && { window: { ...sliding, layers: all } }),
    ...(unrotatedLayers !== undefined && { unrotatedLayers: ofAll(unrotatedLayers) }),
    ...(attentionLayers !== undefined && { attentionLayers: ofAll(attentionLayers) }),
  }
  return { ...prepared, config: own, weights: new Map(left), plan: { ...plan, slots } }
}
