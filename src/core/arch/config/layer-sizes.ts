// Sizes that may differ between the layers of a model.
import type { HeadSizes, ModelConfig } from './config.ts'

/** Whether a layer has a window. */
export const isLocal = ({ window: local }: ModelConfig, layer: number): boolean =>
  local?.layers.includes(layer) === true

/** The heads of a layer. */
export const headsOf = (config: ModelConfig, layer: number): HeadSizes =>
  (isLocal(config, layer) ? undefined : config.fullHeads) ?? config

/** The layer whose keys and values a layer uses: itself or, if layers share them, an earlier one. */
export function keyLayerOf(config: ModelConfig, layer: number): number {
  const { layers, sharedKvLayers = 0 } = config
  const own = layers - sharedKvLayers
  if (layer < own) return layer
  const kind = isLocal(config, layer)
  let last = own - 1
  while (last >= 0 && isLocal(config, last) !== kind) last--
  return last
}

/** The inner size of a layer's feed-forward block. */
export const mlpSizeOf = ({ mlpSizes, intermediateSize }: ModelConfig, layer: number): number =>
  mlpSizes?.[layer] ?? intermediateSize
