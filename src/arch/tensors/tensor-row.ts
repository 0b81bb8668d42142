// Tensor rows. In: nothing. Out: how one kind of tensor is called and shaped, and what that takes of the hyperparameters.
import type { ModelConfig } from '../config/config.ts'
import type { DecoderTraits } from '../decoder.ts'
import type { Place } from '../family.ts'

/** The embedding table of safetensors, where a family does not say otherwise. */
export const EMBEDDING = 'model.embed_tokens.weight|backbone.embeddings.weight|backbone.embedding.weight'

/** One kind of tensor under its three common names; N is the layer, E the expert. */
export interface TensorRow {
  /** Canonical: in graphs, plans and .hbm packs. */
  readonly name: string
  readonly gguf: string
  /** Several, separated by |, where writers differ. */
  readonly safetensors: string
  /** Outermost first. */
  readonly shape: (config: ModelConfig, traits: DecoderTraits) => readonly number[]
  /** Default: every model has it. */
  readonly isIn?: ((config: ModelConfig, traits: DecoderTraits, layer: number) => boolean) | undefined
  /** Where a file keeps it, when not as it is in a tensor of its own; packs keep what is read. */
  readonly place?: StoredPlace | undefined
}
export type Shape = TensorRow['shape']
export type IsIn = NonNullable<TensorRow['isIn']>
export type StoredPlace = (config: ModelConfig, format: 'gguf' | 'safetensors') => Partial<Place>

export const row = (
  name: string,
  gguf: string,
  safetensors: string,
  shape: Shape,
  isIn?: IsIn,
  place?: StoredPlace,
): TensorRow => ({ name, gguf, safetensors, shape, isIn, place })

export const hidden: Shape = ({ hiddenSize }) => [hiddenSize]
/** The vector of a matrix's outputs. */
export const first =
  (shape: Shape): Shape =>
  (config, traits) =>
    shape(config, traits).slice(0, 1)
