// ModelConfig: the hyperparameters that every family shares, frozen, under our own names.
import type { Activation, RouteRule, Xielu } from '../../graph/ir.ts'

/** Which two numbers of a head form a rotated pair: (i, i + dims/2) or (2i, 2i + 1). */
export type RopePairing = 'halves' | 'interleaved'

/** Changes to RoPE's frequencies for contexts longer than the trained one. */
export type RopeScaling =
  | { readonly type: 'linear'; readonly factor: number }
  | {
      /**
       * Llama 3.1: low frequencies are divided by `factor`, high ones are unchanged, with a smooth ramp in
       * between.
       */
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
       * Pairs that make fewer than `slow` turns over the original length are divided by `factor`. Those that
       * make more than `fast` are unchanged.
       */
      readonly type: 'yarn'
      readonly factor: number
      readonly originalContextLength: number
      readonly fast: number
      readonly slow: number
      readonly magnitude: number
      /** True if the dimensions for `slow` and `fast` are not rounded to whole numbers. Default: false. */
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
       * Phi-3's LongRoPE: contexts beyond the original length use different divisors; cosines and sines are
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
  /** Number of leading dimensions of each head that are rotated; even. */
  readonly dims: number
  readonly pairing: RopePairing
  readonly scaling?: RopeScaling
  /**
   * How many successive pairs rotate by a row's time, height and width. Absent if all rotate by its position.
   * For text, the three are equal.
   */
  readonly sections?: readonly number[] | undefined
}

/** The name of a family in the table of families.ts. File readers check it. */
export type Family = string

/** The sizes that the recurrent layers of Mamba and Mamba-2 share, all of them counts. */
interface CommonSsm {
  /** Channels inside a layer. */
  readonly innerSize: number
  /** State elements per channel. */
  readonly stateSize: number
  /** Kernel width of each channel's convolution. */
  readonly convKernel: number
  readonly convBias: boolean
}

export interface Mamba1Config extends CommonSsm {
  readonly kind: 'mamba'
  /** Number of inputs to the projection that computes step sizes. Each channel has its own step size. */
  readonly timeStepRank: number
  /** RMS norms of step sizes, B and C. Without weights they only scale. */
  readonly norms?: { readonly epsilon: number; readonly haveWeights: boolean } | undefined
}

export interface Mamba2Config extends CommonSsm {
  readonly kind: 'mamba2'
  /** Number of heads. Each has its own step size. */
  readonly heads: number
  /** Heads share B and C in this many groups, each with its own part of the norm. */
  readonly groups: number
  /** The smallest and largest step size; absent if unlimited. */
  readonly timeStepLimit?: readonly [number, number] | undefined
  /** Whether a norm follows the gate. Default: true. */
  readonly gateNorm?: boolean | undefined
}

/**
 * Layers with the gated delta rule. `innerSize` is the width of all values together, `stateSize` the width of
 * a head's key.
 */
export interface DeltaConfig extends CommonSsm {
  readonly kind: 'delta'
  readonly heads: number
  /** Number of query and key heads. */
  readonly groups: number
  /** The order of heads that share a key: next to each other (0, 0, 1, 1) or alternating (0, 1, 0, 1). */
  readonly order: 'grouped' | 'tiled'
  /** Multiplies the fraction of a value that is replaced. With 2, a value may be replaced by its negative. */
  readonly betaScale: number
  /** Epsilon of the norm after the rule. */
  readonly epsilon: number
}

/** Layers with Griffin's gated linear recurrence. `stateSize` is 1. */
interface LruConfig extends CommonSsm {
  readonly kind: 'lru'
  /** Number of blocks in each of the gates' matrices. */
  readonly heads: number
}

/** Layers of RWKV-4. `stateSize` is 3, and `convKernel` is 2: each mixes a row with the previous one. */
export interface WkvConfig extends CommonSsm {
  readonly kind: 'wkv'
}

/** A model's recurrent layers. */
export type SsmConfig = Mamba1Config | Mamba2Config | DeltaConfig | LruConfig | WkvConfig

/** Granite's multipliers. Defaults: 1, and 1 / sqrt(headDim) for attention. */
interface Multipliers {
  readonly embedding: number
  readonly residual: number
  readonly attention: number
  readonly logits: number
}

/** Consecutive runs of rows: the number of rows in each, and their factor. */
export type RowFactors = readonly (readonly [rows: number, factor: number])[]

/** Layers that attend only to the most recent positions. */
export interface WindowConfig {
  readonly positions: number
  readonly layers: readonly number[]
}

/** Feed-forward blocks; each token is routed to some of them. `RouteRule` defines how the router chooses. */
export interface ExpertsConfig extends Omit<RouteRule, 'experts'> {
  readonly count: number
  /** Inner size of one expert. Default: `intermediateSize`. */
  readonly size?: number | undefined
  /** True if experts are chosen by their scores plus a bias that does not affect their weights. */
  readonly isBiased?: boolean | undefined
  /**
   * A block that every token passes through as well: its inner size, and whether it is scaled by a gate of
   * its own.
   */
  readonly shared?: { readonly size: number; readonly isGated: boolean } | undefined
  /** Layers that have one block of `intermediateSize` instead of experts. */
  readonly denseLayers?: readonly number[] | undefined
  /** Upper limit of the gate. The gated value is limited to the same magnitude before 1 is added to it. */
  readonly limit?: number | undefined
}

/**
 * Latent attention: a token's keys and values are computed from one short row, and its queries from another.
 */
export interface LatentConfig {
  /** Width of the row from which keys and values are computed. */
  readonly rank: number
  /**
   * Width of the row from which queries are computed. Absent: they are computed from the whole hidden state.
   */
  readonly queryRank?: number | undefined
  /** Dimensions of a key that belong to its head alone. All heads share the other, rotated ones. */
  readonly plainDim: number
  readonly valueDim: number
  /** Epsilon of the norms of both rows. */
  readonly normEpsilon: number
}

/**
 * Whether the matrices of a part have biases. The parts are queries, keys and values together, attention's
 * output, the feed-forward block, the logits. Absent: the family's default; for logits, none.
 */
export interface Biases {
  readonly qkv?: boolean | undefined
  readonly output?: boolean | undefined
  readonly mlp?: boolean | undefined
  readonly logits?: boolean | undefined
}

/** Queries at position p are scaled by 1 + beta ln(1 + floor(p / length)). */
export interface QueryScale {
  readonly beta: number
  /** In positions. */
  readonly length: number
}

/** Number of key and value heads, and the width of every head. */
export interface HeadSizes {
  readonly kvHeads: number
  readonly headDim: number
}

/**
 * Per-layer token embeddings with `size` numbers each. Tokens with an id of `rows` or more use the row of
 * token 0.
 */
export interface LayerEmbedding {
  readonly size: number
  readonly rows: number
}

/** A residual with several streams (AltUp). Layers process the stream `active` and correct the others. */
export interface StreamsConfig {
  readonly count: number
  readonly active: number
  /** The active stream is multiplied by a weight vector before it gates a layer's embedding. */
  readonly isScaled: boolean
  /** Rank of the matrix parallel to attention (LAuReL). */
  readonly besideRank: number
}

/** Blocks of attention and a feed-forward part that some layers use in turn. */
export interface SharedBlocks {
  /** The layers that use a block. */
  readonly layers: readonly number[]
  /** Number of blocks. */
  readonly count: number
  /** Rank of each layer's adapters to the blocks' matrices. */
  readonly rank: number
  /** Whether queries, keys and values have adapters as well; the feed-forward part always does. */
  readonly adaptsAttention: boolean
}

/** Layers whose gate keeps only values at least this many standard deviations above the mean. */
export interface GateCutoff {
  readonly layer: number
  readonly deviations: number
}

/** Everything that a family file needs to build its graph. Sizes are counts, not bytes. */
export interface ModelConfig {
  readonly family: Family
  readonly name: string
  readonly hiddenSize: number
  readonly layers: number
  /**
   * The head count and width are 0 in families without attention, and the MLP's width is 0 in families
   * without an MLP.
   */
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly intermediateSize: number
  readonly vocabSize: number
  readonly normEpsilon: number
  /**
   * After each run of this many layers, the model halves its values. Here that only quadruples the epsilon of
   * the norms.
   */
  readonly halvedEvery?: number | undefined
  readonly rope: RopeConfig
  /** Context length that the model was trained for, in tokens. */
  readonly contextLength: number
  /** Present in families with recurrent layers only. */
  readonly ssm?: SsmConfig | undefined
  /**
   * Kernel width of the short convolutions. Present in hybrids of short convolutions and
   * attention.
   */
  readonly convTaps?: number | undefined
  /** The layers of a hybrid that have attention. Absent if all layers are alike. */
  readonly attentionLayers?: readonly number[] | undefined
  /** The layers with recurrent state. Default: those without attention. */
  readonly recurrentLayers?: readonly number[] | undefined
  /**
   * The layers that consist only of a feed-forward block; all other layers are then only a mixer. Absent:
   * each layer is a mixer followed, in models with an MLP, by a feed-forward block.
   */
  readonly mlpLayers?: readonly number[] | undefined
  readonly multipliers?: Multipliers | undefined
  /**
   * Factors by which a checkpoint's matrices are multiplied while they are read, by canonical name without
   * the layer. Other formats store the products.
   */
  readonly factors?: Readonly<Record<string, RowFactors>> | undefined
  /** True if the logits matrix is the embedding table. */
  readonly tiedEmbeddings: boolean
  readonly window?: WindowConfig | undefined
  /** The rotation of layers with a window. Default: the same as in other layers. */
  readonly localRope?: RopeConfig | undefined
  /** The heads of layers without a window, if they differ from those of layers with one. */
  readonly fullHeads?: HeadSizes | undefined
  /** In layers without a window, files have one matrix for both keys and values. */
  readonly valuesAreKeys?: boolean | undefined
  /**
   * How many of the last layers reuse the keys and values of an earlier layer: the last one before them with
   * the same kind of attention, windowed or not.
   */
  readonly sharedKvLayers?: number | undefined
  /** Layers without rotation. */
  readonly unrotatedLayers?: readonly number[] | undefined
  readonly experts?: ExpertsConfig | undefined
  /** If present, `headDim` is the wider of a key and a value, rounded up to a multiple of 4. */
  readonly latent?: LatentConfig | undefined
  /** The inner size of each layer's feed-forward block, if they differ. */
  readonly mlpSizes?: readonly number[] | undefined
  readonly gateCutoffs?: readonly GateCutoff[] | undefined
  readonly layerEmbedding?: LayerEmbedding | undefined
  readonly streams?: StreamsConfig | undefined
  readonly sharedBlocks?: SharedBlocks | undefined
  /** The factor of each layer's output. */
  readonly layerScales?: readonly number[] | undefined
  /** The activation of feed-forward blocks; default: the family's. */
  readonly activation?: Activation | undefined
  /** The xIELU parameters of each layer. Present only with that activation. */
  readonly xielu?: readonly Xielu[] | undefined
  /** Attention and the feed-forward block read the same rows, and both outputs are added to them. */
  readonly parallelResidual?: boolean | undefined
  /** Both blocks of a parallel layer share one input norm. */
  readonly sharedNorm?: boolean | undefined
  readonly biases?: Biases | undefined
  /** False if queries and keys lack the norms that the family normally has. */
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
  /** For each layer, the factor of the second map of scores, which is subtracted from the first. */
  readonly subtracted?: readonly number[] | undefined
  /** Factor of attention's scores; default 1 / sqrt(headDim). */
  readonly attentionScale?: number | undefined
  /** Scores of layer i, counted from 0, are also divided by i + 1. */
  readonly dividedByLayer?: boolean | undefined
  /** Soft caps of scores and of logits: cap * tanh(x / cap); default: none. */
  readonly attentionCap?: number | undefined
  readonly logitCap?: number | undefined
}
