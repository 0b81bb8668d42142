// Sizes that may differ between the layers of a model.
import type { HeadSizes, ModelConfig } from './config.ts'

/** Most streams of a residual. Families list the tensors of as many; kernels take any number. */
export const MOST_STREAMS = 8
/** Most blocks that layers share. Families list the tensors of as many. */
export const MOST_BLOCKS = 4
/** Most tokens that have no row of their own in the embeddings of layers. */
export const MOST_WITHOUT_ROWS = 1 << 16

/** Whether a layer sees the last positions only. */
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
