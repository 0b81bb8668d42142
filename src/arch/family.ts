// Family. In: nothing. Out: what a family's file says: how its graph is built, and what the two kinds of file call things.
import type { ValueChange } from '../formats/tensors.ts'
import type { Graph } from '../graph/ir.ts'
import type { ModelConfig, RopePairing } from './config/config.ts'
import type { Fields } from './config/fields.ts'
import { type DecoderTraits, decoder } from './decoder.ts'

/** Rows of a stored tensor, or the tensor in another form. */
export interface Place {
  /** Several names, separated by |, where writers differ. */
  readonly tensor: string
  /** Outermost first, as the file has it. Default: the weight's own shape. */
  readonly shape?: readonly number[]
  /** The weight's rows in the tensor, as runs of [first, count]; default: all. */
  readonly runs?: readonly (readonly [number, number])[]
  /** `transposed`: the file has [inputs, outputs]. */
  readonly form?: 'transposed' | undefined
  /** What the values become. */
  readonly change?: ValueChange | undefined
  /** True for a vector that files may keep as rows. */
  readonly isFlat?: boolean | undefined
}

/** Where a file keeps weights, by canonical name with N for the layer and E for the expert; what is not here has the common name. */
export type Names = Readonly<Record<string, string | ((config: ModelConfig, expert: number) => Place)>>

/**
 * Defaults of a class, by the common names of its keys. Where `sliding_window` is not among them, the class has no windows; those of
 * a class with `use_sliding_window` count only where it is true, and those of one with `max_window_layers` from that layer on.
 */
export type Defaults = Readonly<Record<string, number | boolean>>

/** The defaults of sizes, and others. */
export const defaults = (
  vocab_size: number,
  hidden_size: number,
  intermediate_size: number,
  num_hidden_layers: number,
  num_attention_heads: number,
  max_position_embeddings: number,
  others?: Defaults,
): Defaults => ({
  ...{ vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads },
  ...{ max_position_embeddings, ...others },
})

/** Reads what the common keys do not say. */
type Reader = (fields: Fields, common: ModelConfig) => Partial<ModelConfig>

export interface FamilyFile {
  /** Of a decoder; families of recurrent layers alone have none. */
  readonly traits?: DecoderTraits
  readonly build: (config: ModelConfig) => Graph
  readonly gguf: {
    /** `general.architecture` */
    readonly architecture: string
    /** llama.cpp's converter reorders the rows of Q and K of some families. */
    readonly pairing: RopePairing
    /** All but the last of so many layers have the window; 0: all have it. Default 0. */
    readonly windowPeriod?: number
    readonly config?: Reader
    readonly names?: Names
  }
  readonly hf: {
    /** By `architectures` of config.json: what a class of transformers takes for keys that are absent. */
    readonly classes: Readonly<Record<string, Defaults>>
    /** Keys of config.json that have other names. */
    readonly keys?: Readonly<Record<string, string>>
    readonly config?: Reader
    readonly names?: Names
  }
}

/** A family that is a decoder of these traits. */
export function family(traits: DecoderTraits, files: Pick<FamilyFile, 'gguf' | 'hf'>): FamilyFile {
  return { traits, build: (config) => decoder(config, traits), ...files }
}
