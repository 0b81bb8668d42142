// The type of a family: how its graph is built, its names in GGUF and safetensors, and its rows of the tensor
// table.
import type { ValueChange } from '../formats/tensors.ts'
import type { Graph } from '../graph/nodes.ts'
import type { ModelConfig, RopePairing } from './config/config.ts'
import type { Fields } from './config/fields.ts'
import { type DecoderTraits, decoder } from './decoder.ts'

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
  /** Where a file keeps it, unless it is its own tensor. Packs store it as it is read. */
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

/** Where a weight is in a file: rows of a stored tensor, or the tensor in another form. */
export interface StoredWeight {
  /** The tensor's name; several, separated by |, when writers differ. */
  readonly tensor: string
  /** Shape in the file, outermost first. Default: the weight's own shape. */
  readonly shape?: readonly number[]
  /** The weight's rows in the tensor, as runs of [first, count]. Default: all rows. */
  readonly runs?: readonly (readonly [number, number])[]
  /** `transposed`: the file has [inputs, outputs]. */
  readonly form?: 'transposed' | undefined
  /** A change to the values after reading. */
  readonly change?: ValueChange | undefined
  /** True for a vector that files may keep as rows. */
  readonly isFlat?: boolean | undefined
}

/**
 * Where a file keeps weights, by canonical name, with N for the layer and E for the expert. Weights that are
 * not listed have their common names.
 */
export type Names = Readonly<Record<string, string | ((config: ModelConfig, expert: number) => StoredWeight)>>

/**
 * Defaults of a class, by the common names of its keys. A class without a default for `sliding_window` has no
 * windows. With `use_sliding_window`, windows are used only when it is true. With `max_window_layers`,
 * windows begin at that layer.
 */
export type Defaults = Readonly<Record<string, number | boolean>>

/** Defaults of the sizes, and further defaults. */
export const defaults = (
  vocab_size: number,
  hidden_size: number,
  intermediate_size: number,
  num_hidden_layers: number,
  num_attention_heads: number,
  max_position_embeddings: number,
  others?: Defaults,
): Defaults => ({
  vocab_size,
  hidden_size,
  intermediate_size,
  num_hidden_layers,
  num_attention_heads,
  max_position_embeddings,
  ...others,
})

/** Reads the values that the common keys do not give. */
type Reader = (fields: Fields, common: ModelConfig) => Partial<ModelConfig>

export interface FamilyFile {
  /** Traits of a decoder. Families with only recurrent layers have none. */
  readonly traits?: DecoderTraits
  readonly build: (config: ModelConfig) => Graph
  readonly gguf: {
    /** `general.architecture` */
    readonly architecture: string
    /** llama.cpp's converter reorders the rows of Q and K of some families. */
    readonly pairing: RopePairing
    /**
     * In each run of this many layers, all but the last have the window. 0, the default: all layers have it.
     */
    readonly windowPeriod?: number
    readonly config?: Reader
    readonly names?: Names
  }
  readonly hf: {
    /** Defaults for absent keys, by class of transformers (`architectures` in config.json). */
    readonly classes: Readonly<Record<string, Defaults>>
    /** Other names of keys in config.json. */
    readonly keys?: Readonly<Record<string, string>>
    readonly config?: Reader
    readonly names?: Names
  }
}

/** A family that is a decoder with these traits. */
export function family(traits: DecoderTraits, files: Pick<FamilyFile, 'gguf' | 'hf'>): FamilyFile {
  return { traits, build: (config) => decoder(config, traits), ...files }
}
