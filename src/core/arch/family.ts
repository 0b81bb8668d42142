// The type of a family: how to build its graph, its names in GGUF and safetensors, and its rows of the tensor
// table.
import type { ValueChange } from '../formats/tensors.ts'
import type { Graph } from '../graph/nodes.ts'
import { type DecoderTraits, hasBias, PLAIN } from './blocks/parts.ts'
import type { Biases, ModelConfig, RopePairing, RowFactors, SsmConfig } from './config/config.ts'
import type { Fields } from './config/fields.ts'
import type { decoder } from './decoder.ts'

/** The name of the embedding table in safetensors, unless a family says otherwise. */
export const EMBEDDING = 'model.embed_tokens.weight|backbone.embeddings.weight|backbone.embedding.weight'

/** A kind of tensor and its three common names; N is the layer, E the expert. */
export interface TensorRow {
  /** The canonical name, used in graphs, plans and .hbm packs. */
  readonly name: string
  readonly gguf: string
  /** Several names, separated by |, if different writers use different names. */
  readonly safetensors: string
  /** Outermost first. */
  readonly shape: (config: ModelConfig, traits: DecoderTraits, layer: number) => readonly number[]
  /** Whether a model's layer has the tensor. Default: always. */
  readonly isIn?: ((config: ModelConfig, traits: DecoderTraits, layer: number) => boolean) | undefined
  /** Where a file stores the weight, if it is not a separate tensor. In packs, it always is one. */
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
/** Shape of a vector with one value per output of a matrix. */
export const first =
  (shape: Shape): Shape =>
  (...of) =>
    shape(...of).slice(0, 1)

/** Where a file stores a weight: rows of a tensor, or the tensor in another form. */
export interface StoredWeight {
  /** The tensor's name; several, separated by |, if different writers use different names. */
  readonly tensor: string
  /** Shape in the file, outermost first. Default: the weight's own shape. */
  readonly shape?: readonly number[]
  /** Where the weight is if the file lacks the tensor. */
  readonly orElse?: StoredWeight | undefined
  /** Used instead of `tensor`: several tensors of one dtype whose rows are concatenated. */
  readonly joined?: readonly string[] | undefined
  /** The weight's rows in the tensor, as runs of [first, count]. Default: all rows. */
  readonly runs?: readonly (readonly [number, number])[]
  /**
   * For interleaved rows, such as gate and up: the weight's first row, and the distance from one row to the
   * next.
   */
  readonly turn?: { readonly first: number; readonly of: number }
  /**
   * `transposed`: the file has [inputs, outputs], but quantised tensors are not transposed. `turned`: the
   * file has one such matrix or several, quantised or not, whose rows follow each other in the weight.
   * `shares`: the file has a vector; for each of its numbers s the weight has the row 1
   * - s, s.
   */
  readonly form?: 'transposed' | 'turned' | 'shares' | undefined
  /** Which of several transposed matrices holds the weight. */
  readonly matrix?: number
  /** A change that is applied to the values after reading. */
  readonly change?: ValueChange | undefined
  /** Factors of the rows of a float matrix. The result has the encoding of the file's dtype. */
  readonly factors?: RowFactors | undefined
  /** True for a vector that files may store as a row. */
  readonly isFlat?: boolean | undefined
  /**
   * For a weight that no file stores: the value of every element, or of the element at an index. `tensor` is
   * then empty.
   */
  readonly constant?: number | ((index: number) => number) | undefined
}

/** The weights of a norm without stored weights. */
export const ones = (): StoredWeight => ({ tensor: '', constant: 1 })

/** A norm whose weights Hugging Face files store minus 1. */
export const lessOne = (tensor: string) => (): StoredWeight => ({ tensor, change: { scale: 1, offset: 1 } })

/** Matrices or norms with their biases, by module. */
export const modules = (names: Readonly<Record<string, string>>): Names =>
  Object.fromEntries(
    Object.entries(names).flatMap(([name, file]) => [
      [`${name}.weight`, `${file}.weight`],
      [`${name}.bias`, `${file}.bias`],
    ]),
  )

/**
 * Where a file stores weights, by canonical name, with N for the layer and E for the expert. Weights that are
 * not listed have their common names.
 */
export type Names = Readonly<
  Record<string, string | ((config: ModelConfig, expert: number, layer: number) => StoredWeight)>
>

/**
 * Defaults of a class, by the common names of its keys. A class without a default for `sliding_window` has no
 * windows. In a class with `use_sliding_window`, windows apply only if that is true; with
 * `max_window_layers`, they begin at that layer.
 */
export type Defaults = Readonly<Record<string, number | boolean>>

/** Defaults for a model's sizes. `others`: further defaults. */
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

/** Reads the values that are not stored under the common keys. */
type Reader = (fields: Fields, common: ModelConfig) => Partial<ModelConfig>

/**
 * The engine's decoder, passed as an argument so that the script with the rare families does not contain a
 * second copy.
 */
export type Decoder = typeof decoder

export interface FamilyFile {
  /** Traits of a decoder. Purely recurrent families have none. */
  readonly traits?: DecoderTraits
  /** Default: the decoder with these traits. */
  readonly build?: (config: ModelConfig, decoder: Decoder) => Graph
  /** False if no layer has attention, even though the family has traits. */
  readonly attention?: false
  /** The kind of its recurrent layers, if it has any. */
  readonly recurrence?: SsmConfig['kind']
  /** Tensors that only this family has. */
  readonly tensors?: readonly TensorRow[]
  /** Whether the graph ignores a tensor that files may contain. */
  readonly isUnused?: (name: string, config: ModelConfig) => boolean
  readonly gguf: {
    /** `general.architecture`. Absent if llama.cpp does not support the family. */
    readonly architecture?: string
    /** True if llama.cpp's converter reorders the rows of Q and K. */
    readonly pairing: RopePairing
    /**
     * In each run of this many layers, all but the last have the window. 0, the default: all layers have it.
     */
    readonly windowPeriod?: number
    /** `kinds`: names of the file's tensors, without the layer's number. */
    readonly config?: (...of: [...Parameters<Reader>, kinds: ReadonlySet<string>]) => Partial<ModelConfig>
    /** Reads hyperparameters that the file may store as tensors. */
    readonly stored?: (
      config: ModelConfig,
      vector: (tensor: string) => Promise<readonly number[] | undefined>,
    ) => Promise<Partial<ModelConfig>>
    readonly names?: Names
  }
  readonly hf: {
    /** Defaults for absent keys, by class of transformers (`architectures` in config.json). */
    readonly classes: Readonly<Record<string, Defaults>>
    /** Alternative names of keys in config.json. */
    readonly keys?: Readonly<Record<string, string>>
    /** Which two numbers form a rotated pair. Default: `halves`. */
    readonly pairing?: RopePairing
    /**
     * The keys that say whether a part's matrices have biases. Default: `attention_bias` for attention and
     * `mlp_bias`. For a part without a key, the traits decide.
     */
    readonly biases?: Readonly<Partial<Record<keyof Biases, string>>>
    /** `listed`: the class that the file names. */
    readonly config?: (...of: [...Parameters<Reader>, listed: string]) => Partial<ModelConfig>
    /** Reads hyperparameters that the file stores as tensors. */
    readonly stored?: (
      config: ModelConfig,
      vector: (tensor: string) => Promise<readonly number[]>,
    ) => Promise<Partial<ModelConfig>>
    readonly names?: Names
  }
}

/** For families that llama.cpp does not support. */
export const NO_GGUF = { pairing: 'halves' } as const

/** Biases that a model states and that differ from its family's. */
export function otherBiases(traits: DecoderTraits = PLAIN, stated: Biases): Biases | undefined {
  const others = Object.entries(stated).filter(
    ([part, has]) => has !== hasBias({}, traits, part as keyof Biases),
  )
  return others.length === 0 ? undefined : Object.fromEntries(others)
}

/** A family that is a decoder with these traits. */
export const family = (traits: DecoderTraits, files: Pick<FamilyFile, 'gguf' | 'hf'>): FamilyFile => ({
  traits,
  ...files,
})
