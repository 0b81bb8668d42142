// Tensor rows. In: nothing. Out: the type of a table row: a tensor's names, and its shape from
// hyperparameters.
import type { ModelConfig } from '../config/config.ts'
import type { DecoderTraits } from '../decoder.ts'
import type { StoredWeight } from '../family.ts'

/** The name of the embedding table in safetensors, unless a family says otherwise. */
export const EMBEDDING = 'model.embed_tokens.weight|backbone.embeddings.weight|backbone.embedding.weight'

/** One kind of tensor and its three common names; N is the layer, E the expert. */
export interface TensorRow {
  /** The canonical name, used in graphs, plans and .hbm packs. */
  readonly name: string
  readonly gguf: string
  /** Several names, separated by |, when writers differ. */
  readonly safetensors: string
  /** Outermost first. */
  readonly shape: (config: ModelConfig, traits: DecoderTraits) => readonly number[]
  /** Whether a model's layer has the tensor. Default: always. */
  readonly isIn?: ((config: ModelConfig, traits: DecoderTraits, layer: number) => boolean) | undefined
  /** Where a file keeps it, unless it is a tensor of its own. Packs store it as it is read. */
  readonly place?: StoredWeightOf | undefined
}
export type Shape = TensorRow['shape']
export type IsIn = NonNullable<TensorRow['isIn']>
export type StoredWeightOf = (config: ModelConfig, format: 'gguf' | 'safetensors') => Partial<StoredWeight>

export const row = (
  name: string,
  gguf: string,
  safetensors: string,
  shape: Shape,
  isIn?: IsIn,
  place?: StoredWeightOf,
): TensorRow => ({ name, gguf, safetensors, shape, isIn, place })

export const hidden: Shape = ({ hiddenSize }) => [hiddenSize]
/** Shape of a vector with one value for each output of a matrix. */
export const first =
  (shape: Shape): Shape =>
  (config, traits) =>
    shape(config, traits).slice(0, 1)
