// Sizes that may differ between the layers of a model.
import type { HeadSizes, ModelConfig } from './config.ts'

/**
 * Maximum number of streams in a residual. Families list the tensors of up to this many streams; kernels
 * support any number.
 */
export const MAX_STREAMS = 8
/** Maximum number of blocks that layers share. Families list the tensors of up to this many blocks. */
export const MAX_BLOCKS = 4
/** Maximum number of tokens without a row of their own in a table of per-layer embeddings. */
export const MAX_WITHOUT_ROWS = 1 << 16

/** Whether a layer attends only to the most recent positions. */
export const isLocal = ({ window: local }: ModelConfig, layer: number): boolean =>
  local?.layers.includes(layer) === true

/** The heads of a layer. */
export const headsOf = (config: ModelConfig, layer: number): HeadSizes =>
  (isLocal(config, layer) ? undefined : config.fullHeads) ?? config

/**
 * The layer whose keys and values a layer uses: its own, or those of an earlier layer if layers share them.
 */
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
