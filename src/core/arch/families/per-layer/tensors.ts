// What the families with per-layer embeddings share: traits, tensors and keys.
import { type DecoderTraits, PLAIN } from '../../blocks/parts.ts'
import type { ModelConfig, WindowConfig } from '../../config/config.ts'
import { type Fields, layersOf, windowOf } from '../../config/fields.ts'
import { MAX_WITHOUT_ROWS } from '../../config/layer-sizes.ts'
import { hidden, type IsIn, type Names, row, type Shape, type TensorRow } from '../../family.ts'

export const TRAITS: DecoderTraits = {
  ...PLAIN,
  norms: 'around',
  activation: 'gelu',
  headNorms: 'head',
  valueNorms: true,
  isUneven: true,
}

/** The factors of embeddings and of scores. */
export const factors = ({ hiddenSize }: ModelConfig) => ({
  embeddingScale: Math.sqrt(hiddenSize),
  attentionScale: 1,
})

const size = ({ layerEmbedding }: ModelConfig): number => layerEmbedding?.size ?? 0
const hasInputs: IsIn = ({ layerEmbedding }) => layerEmbedding !== undefined
const ofHidden: Shape = (config) => [size(config), config.hiddenSize]
const toHidden: Shape = (config) => [config.hiddenSize, size(config)]

/** Number of rows in a table that is shorter than the vocabulary; the remaining tokens use the first row. */
function tableRows({ vocabSize, layers, layerEmbedding }: ModelConfig) {
  const rows = layerEmbedding?.rows ?? vocabSize
  if (rows === vocabSize) return {}
  const past = Math.min(Math.max(0, vocabSize - rows), MAX_WITHOUT_ROWS)
  const others = Array.from({ length: past }, () => [0, 1] as const)
  return {
    shape: [rows, layers * (layerEmbedding?.size ?? 0)],
    runs: [[0, Math.min(rows, vocabSize)] as const, ...others],
  }
}

const layer = (name: string, gguf: string, safetensors: string, shape: Shape): TensorRow =>
  row(
    `layers.N.${name}.weight`,
    `blk.N.${gguf}.weight`,
    `model.layers.N.${safetensors}.weight`,
    shape,
    hasInputs,
  )

/** Tensors of the per-layer embeddings. */
export const layerTensors: readonly TensorRow[] = [
  row(
    'layer_embed.weight',
    'per_layer_token_embd.weight',
    'model.embed_tokens_per_layer.weight',
    (config) => [config.vocabSize, config.layers * size(config)],
    hasInputs,
    tableRows,
  ),
  row(
    'layer_embed_norm.weight',
    'per_layer_proj_norm.weight',
    'model.per_layer_projection_norm.weight',
    (config) => [size(config)],
    hasInputs,
    () => ({ change: { scale: Math.SQRT1_2, offset: 0 } }),
  ),
  row('layers.N.layer_proj.weight', '', '', ofHidden, hasInputs),
  layer('layer_gate', 'inp_gate', 'per_layer_input_gate', ofHidden),
  layer('layer_output', 'proj', 'per_layer_projection', toHidden),
  layer('layer_post_norm', 'post_norm', 'post_per_layer_input_norm', hidden),
]

/** Names of tensors that all layers share, or that other families also have. */
export const layerNames = (format: 'gguf' | 'hf'): Names => ({
  'layers.N.layer_proj.weight': (config, _, layer) => ({
    tensor: format === 'gguf' ? 'per_layer_model_proj.weight' : 'model.per_layer_model_projection.weight',
    shape: [config.layers * size(config), config.hiddenSize],
    runs: [[layer * size(config), size(config)]],
  }),
  ...(format === 'hf' && {
    'layers.N.mlp_norm.weight': 'model.layers.N.pre_feedforward_layernorm.weight',
  }),
})

/**
 * Whether a tensor computes keys or values of a layer that reuses another's. transformers ignores these
 * tensors.
 */
export function isSharedKey(name: string, { layers, sharedKvLayers = 0 }: ModelConfig): boolean {
  const [, at] =
    /^(?:model\.layers|blk)\.(\d+)\.(?:self_attn\.[kv]_(?:proj|norm)|attn_[kv](?:_norm)?)\./.exec(name) ?? []
  return at !== undefined && Number(at) >= layers - sharedKvLayers
}

/** The window of the layers that have one. */
export const localWindow = (
  positions: number,
  config: Pick<ModelConfig, 'layers'>,
  isLocal: (layer: number) => boolean,
): WindowConfig | undefined => windowOf(config, positions, layersOf(config).map(isLocal))

/** Which layers have a window: those that config.json lists, or else all but every `period`th. */
export function localInHf(fields: Fields, period: number): (layer: number) => boolean {
  const kinds = fields.list('layer_types')
  return (layer) => (kinds.length > 0 ? kinds[layer] === 'sliding_attention' : (layer + 1) % period !== 0)
}

/** Which layers have a window, according to GGUF metadata. */
export function localInGguf(fields: Fields, period: number): (layer: number) => boolean {
  const key = 'attention.sliding_window_pattern'
  const flags = fields.isList(key) ? fields.list(key).map(Boolean) : undefined
  const every = flags === undefined ? fields.number(key, period) : period
  return (layer) => (flags === undefined ? (layer + 1) % every !== 0 : flags[layer] === true)
}

/** One number per layer, from a key with a single number or a list. */
export const eachLayer = (
  fields: Fields,
  key: string,
  { layers }: Pick<ModelConfig, 'layers'>,
  fallback?: number,
): number[] =>
  fields.isList(key)
    ? [...fields.numberList(key)]
    : layersOf({ layers }).map(() => fields.number(key, fallback))

/** The sizes, if they differ between layers. */
export const differing = (sizes: readonly number[]): Pick<ModelConfig, 'mlpSizes'> =>
  new Set(sizes).size > 1 ? { mlpSizes: sizes } : {}
