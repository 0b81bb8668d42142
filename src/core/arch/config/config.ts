// ModelConfig: the hyperparameters that every family shares, frozen, under our own names.
import type { Activation, RouteRule, Xielu } from '../../graph/ir.ts'

/** Where the two numbers of a rotated pair are in a head: (i, i + dims/2) or (2i, 2i + 1). */
export type RopePairing = 'halves' | 'interleaved'

/** Changes to RoPE's frequencies for contexts longer than the trained one. */
export type RopeScaling =
  | { readonly type: 'linear'; readonly factor: number }
  | {
      /** Llama 3.1: low frequencies divided by `factor`, high ones kept, a smooth ramp between. */
      readonly type: 'llama3'
      readonly factor: number
      readonly lowFrequencyFactor: number
      readonly highFrequencyFactor: number
      readonly originalContextLength: number
    }
  /**
   * One divisor per frequency, as GGUF's `rope_freqs.weight` stores Llama 3's. [ropeDims/2] Cosines and sines
   * are multiplied by `magnitude`, 1 by default.
   */
  | { readonly type: 'factors'; readonly factors: readonly number[]; readonly magnitude?: number }
  | {
      /**
       * Pairs that turn less than `slow` times over the original length are divided by `factor`, those that
       * turn more than `fast` times are kept.
       */
      readonly type: 'yarn'
      readonly factor: number
      readonly originalContextLength: number
      readonly fast: number
      readonly slow: number
      readonly magnitude: number
      /** The dimensions of `slow` and `fast` are not rounded to whole numbers. Default false. */
      readonly isUnrounded?: boolean | undefined
    }
  | {
      /** NTK-aware: if the context exceeds the original length, `theta` grows with it. */
      readonly type: 'dynamic'
      readonly factor: number
      readonly originalContextLength: number
    }
  | {
      /**
       * Phi-3's LongRoPE: different divisors for contexts beyond the original length; cosines and sines are
       * multiplied by `magnitude`.
       */
      readonly type: 'longrope'
      readonly shortFactors: readonly number[]
      readonly longFactors: readonly number[]
      readonly originalContextLength: number
      readonly magnitude: number
    }

export interface RopeConfig {
  readonly theta: number
  /** Leading dimensions of each head that are rotated; even. */
  readonly dims: number
  readonly pairing: RopePairing
  readonly scaling?: RopeScaling
  /**
   * How many successive pairs rotate by a row's time, by its height and by its width. Absent if all rotate by
   * its position. In texts the three are equal.
   */
  readonly sections?: readonly number[] | undefined
}

/** The name of a family in the table of families.ts. Readers of files check it. */
export type Family = string

/** The sizes that the recurrent layers of Mamba and Mamba-2 share, as counts. */
interface CommonSsm {
  /** Channels inside a layer. */
  readonly innerSize: number
  /** State elements per channel. */
  readonly stateSize: number
  /** Inputs that a channel's convolution sees. */
  readonly convKernel: number
  readonly convBias: boolean
}

export interface Mamba1Config extends CommonSsm {
  readonly kind: 'mamba'
  /** Inputs of the projection that computes step sizes. Each channel has one step size. */
  readonly timeStepRank: number
  /** RMS norms of step sizes, B and C. Without weights they only scale. */
  readonly norms?: { readonly epsilon: number; readonly haveWeights: boolean } | undefined
}

export interface Mamba2Config extends CommonSsm {
  readonly kind: 'mamba2'
  /** Each has one step size. */
  readonly heads: number
  /** Heads share B and C in this many groups, each with its own part of the norm. */
  readonly groups: number
  /** Smallest and largest step size; absent if there is no limit. */
  readonly timeStepLimit?: readonly [number, number] | undefined
  /** Whether a norm follows the gate. Default: true. */
  readonly gateNorm?: boolean | undefined
}

/**
 * Layers of the gated delta rule. `innerSize` is the width of all values, `stateSize` that of a head's key.
 */
export interface DeltaConfig extends CommonSsm {
  readonly kind: 'delta'
  readonly heads: number
  /** Heads of queries and keys. */
  readonly groups: number
  /** Whether heads that share a key are neighbours (0, 0, 1, 1) or alternate (0, 1, 0, 1). */
  readonly order: 'grouped' | 'tiled'
  /** Factor of the fraction of a value that is replaced: 2 if it may be replaced by its negative. */
  readonly betaScale: number
  /** Epsilon of the norm after the rule. */
  readonly epsilon: number
}

/** Layers of Griffin's gated linear recurrence. `stateSize` is 1. */
export interface LruConfig extends CommonSsm {
  readonly kind: 'lru'
  /** Blocks of the gates' matrices. */
  readonly heads: number
}

/** Layers of RWKV-4. `stateSize` is 3, and `convKernel` is 2: each mixes a row with the previous one. */
export interface WkvConfig extends CommonSsm {
  readonly kind: 'wkv'
}

/** The recurrent layers of a model. */
export type SsmConfig = Mamba1Config | Mamba2Config | DeltaConfig | LruConfig | WkvConfig

/** Granite's multipliers. Defaults: 1, and 1 / sqrt(headDim) for attention. */
export interface Multipliers {
  readonly embedding: number
  readonly residual: number
  readonly attention: number
  readonly logits: number
}

/** In order: a number of rows, and their factor. */
export type RowFactors = readonly (readonly [rows: number, factor: number])[]

/** Layers that attend only to the last positions. */
export interface WindowConfig {
  readonly positions: number
  readonly layers: readonly number[]
}

/** Feed-forward blocks; each token goes through some of them. `RouteRule` has the rule of the router. */
export interface ExpertsConfig extends Omit<RouteRule, 'experts'> {
  readonly count: number
  /** Inner size of one expert. Default: `intermediateSize`. */
  readonly size?: number | undefined
  /** True if experts are chosen by their scores plus a bias that is not part of their weights. */
  readonly isBiased?: boolean | undefined
  /**
   * A block that every token goes through as well: its inner size, and whether a gate of its own scales it.
   */
  readonly shared?: { readonly size: number; readonly isGated: boolean } | undefined
  /** Layers with one block of `intermediateSize` instead. */
  readonly denseLayers?: readonly number[] | undefined
  /** Upper limit of the gate, and limit of the magnitude of the gated value, to which 1 is added. */
  readonly limit?: number | undefined
}

/** Latent attention: the keys and values of a token are made from one short row, its queries from another. */
export interface LatentConfig {
  /** Width of the row from which keys and values are made. */
  readonly rank: number
  /** Width of the row from which queries are made; absent: from the whole hidden state. */
  readonly queryRank?: number | undefined
  /** Dimensions of a key besides the rotated ones, which all heads share. */
  readonly plainDim: number
  readonly valueDim: number
  /** Epsilon of the norms of both rows. */
  readonly normEpsilon: number
}

/**
 * Whether the matrices of a part have biases: queries, keys and values together, attention's output, the
 * feed-forward block, the logits. Absent: the family's default; for logits, none.
 */
export interface Biases {
  readonly qkv?: boolean | undefined
  readonly output?: boolean | undefined
  readonly mlp?: boolean | undefined
  readonly logits?: boolean | undefined
}

/** Scales of queries by position p: 1 + beta ln(1 + floor(p / length)). */
export interface QueryScale {
  readonly beta: number
  /** Positions. */
  readonly length: number
}

/** Heads of keys and values, and the width of all heads. */
export interface HeadSizes {
  readonly kvHeads: number
  readonly headDim: number
}

/**
 * Per-layer token embeddings of `size` numbers. Tokens from `rows` on use the row of token 0.
 */
export interface LayerEmbedding {
  readonly size: number
  readonly rows: number
}

/** A residual of several streams (AltUp). Layers work on the stream `active` and correct the others. */
export interface StreamsConfig {
  readonly count: number
  readonly active: number
  /** The active stream is multiplied by a weight vector before it gates a layer's embedding. */
  readonly isScaled: boolean
  /** Rank of the matrix parallel to attention (LAuReL). */
  readonly besideRank: number
}

/** Blocks of attention and a feed-forward part, which some layers use in turn. */
export interface SharedBlocks {
  /** The layers that use a block. */
  readonly layers: readonly number[]
  /** Number of blocks. */
  readonly count: number
  /** Rank of each layer's adapters to the blocks' matrices. */
  readonly rank: number
  /** Whether queries, keys and values have adapters; the feed-forward part always does. */
  readonly adaptsAttention: boolean
}

/** A layer whose gate keeps only values that are this many standard deviations above the mean. */
export interface GateCutoff {
  readonly layer: number
  readonly deviations: number
}

/** What a family file needs to build its graph. Counts, not bytes. */
export interface ModelConfig {
  readonly family: Family
  readonly name: string
  readonly hiddenSize: number
  readonly layers: number
  /**
   * Heads and their width are 0 in families without attention, and so is the MLP's width in families without
   * an MLP.
   */
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly intermediateSize: number
  readonly vocabSize: number
  readonly normEpsilon: number
  /**
   * The model halves its values after each run of this many layers. This only affects the norms' epsilon,
   * which quadruples.
   */
  readonly halvedEvery?: number | undefined
  readonly rope: RopeConfig
  /** Context length that the model was trained for, in tokens. */
  readonly contextLength: number
  /** Present in families with recurrent layers only. */
  readonly ssm?: SsmConfig | undefined
  /** Inputs that a channel of a short convolution sees. Present in hybrids of those and attention. */
  readonly convTaps?: number | undefined
  /** The layers of a hybrid that have attention; absent if all layers are of one kind. */
  readonly attentionLayers?: readonly number[] | undefined
  /** The layers with recurrent state. Default: those without attention. */
  readonly recurrentLayers?: readonly number[] | undefined
  /**
   * The layers that are a feed-forward block alone; all others are then a mixer alone. Absent: each layer is
   * a mixer and, in models that have them, a feed-forward block.
   */
  readonly mlpLayers?: readonly number[] | undefined
  readonly multipliers?: Multipliers | undefined
  /**
   * Factors that the matrices of a checkpoint are multiplied by while they are read, by canonical name
   * without the layer. Other formats store the products.
   */
  readonly factors?: Readonly<Record<string, RowFactors>> | undefined
  /** True if the logits matrix is the embedding table. */
  readonly tiedEmbeddings: boolean
  readonly window?: WindowConfig | undefined
  /** The rotation of layers with a window. Default: same as the others. */
  readonly localRope?: RopeConfig | undefined
  /** The heads of layers without a window, where they differ from those of layers with one. */
  readonly fullHeads?: HeadSizes | undefined
  /** Files have one matrix for keys and values of layers without a window. */
  readonly valuesAreKeys?: boolean | undefined
  /**
   * How many of the last layers use the keys and values of an earlier one: the last one before them with the
   * same kind of attention, windowed or not.
   */
  readonly sharedKvLayers?: number | undefined
  /** Layers that do not rotate. */
  readonly unrotatedLayers?: readonly number[] | undefined
  readonly experts?: ExpertsConfig | undefined
  /** `headDim` is then the wider of a key and a value, rounded up to a multiple of 4. */
  readonly latent?: LatentConfig | undefined
  /** The inner size of each layer's feed-forward block, where they differ. */
  readonly mlpSizes?: readonly number[] | undefined
  readonly gateCutoffs?: readonly GateCutoff[] | undefined
  readonly layerEmbedding?: LayerEmbedding | undefined
  readonly streams?: StreamsConfig | undefined
  readonly sharedBlocks?: SharedBlocks | undefined
  /** A factor for each layer's output. */
  readonly layerScales?: readonly number[] | undefined
  /** The activation of feed-forward blocks; default: the family's. */
  readonly activation?: Activation | undefined
  /** The parameters of each layer's xIELU. Present only if that is the activation. */
  readonly xielu?: readonly Xielu[] | undefined
  /** Attention and feed-forward block read the same rows, and the outputs of both are added to them. */
  readonly parallelResidual?: boolean | undefined
  /** Both blocks of a parallel layer read the rows from one norm. */
  readonly sharedNorm?: boolean | undefined
  readonly biases?: Biases | undefined
  /** False: queries and keys lack the norms of the family. */
  readonly headNorms?: boolean | undefined
  /** Queries, keys and values are clipped to plus or minus this. */
  readonly qkvLimit?: number | undefined
  readonly queryScale?: QueryScale | undefined
  /** The negated exponent of ALiBi's last slope. Present in families with `alibi` positions. */
  readonly alibi?: number | undefined
  /** Factors of embeddings, block outputs and logits; default 1. */
  readonly embeddingScale?: number | undefined
  readonly residualScale?: number | undefined
  readonly logitScale?: number | undefined
  /** A factor for each layer's second map of scores, which is subtracted from the first. */
  readonly subtracted?: readonly number[] | undefined
  /** Factor of attention's scores; default 1 / sqrt(headDim). */
  readonly attentionScale?: number | undefined
  /** Scores of layer i, counted from 0, are also divided by i + 1. */
  readonly dividedByLayer?: boolean | undefined
  /** Soft caps of scores and of logits: cap * tanh(x / cap); default: none. */
  readonly attentionCap?: number | undefined
  readonly logitCap?: number | undefined
}
