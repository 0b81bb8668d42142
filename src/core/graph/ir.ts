// The parts of a graph that nodes share: values with symbolic dimensions, weights by name, state.

import { ABI } from '../abi/constants.ts'
import { HalfbyteError } from '../base/errors.ts'

/** [first, first + count) of a size. */
export interface Range {
  readonly first: number
  readonly count: number
}

/**
 * Splits `size` at multiples of `unit` into consecutive ranges, one per share, as close to the shares as the
 * unit allows. Each range has at least one unit. Throws `unsupported` if there are fewer units than shares.
 */
export function divide(size: number, unit: number, shares: readonly number[]): Range[] {
  const units = Math.ceil(size / unit)
  if (units < shares.length) {
    throw new HalfbyteError(
      'unsupported',
      `${size} in units of ${unit} cannot be split across ${shares.length} workers; use at most ${units}`,
      { size, unit, most: units },
    )
  }
  const total = shares.reduce((sum, share) => sum + share, 0)
  const ranges: Range[] = []
  let taken = 0
  let first = 0
  for (const [index, share] of shares.entries()) {
    taken += share
    const behind = shares.length - 1 - index
    const wanted = behind === 0 ? units : Math.round((units * taken) / total)
    const begin = Math.ceil(first / unit)
    const end = Math.min(units - behind, Math.max(begin + 1, wanted))
    const count = Math.min(end * unit, size) - first
    ranges.push({ first, count })
    first += count
  }
  return ranges
}

/**
 * A known size, or the symbol of a size that depends on the step: its rows (`tokens`), the rows whose logits
 * are wanted (`logitRows`), or its rows counted once per expert that they are routed to.
 */
export type Dim = number | 'tokens' | 'logitRows' | `tokens*${number}`

/** [rows, width] */
export type Shape = readonly [Dim, number]

/** Rows that one node produces. */
export interface Value {
  readonly id: number
  readonly shape: Shape
  /** `a8`: int8 codes with one scale per group of 32, as quantised kernels read them. */
  readonly form: 'f32' | 'a8'
  /** A name for printing, e.g. `layers.3.attn_norm`. */
  readonly label: string
}

/** A stored matrix [n, k] or vector [n] (k is 1), by the names of its parts. Parts are stacked along n. */
export interface WeightRef {
  readonly parts: readonly WeightPart[]
  readonly k: number
  readonly kind: 'matrix' | 'vector'
  /** The `k` columns that this shard holds. Absent: all. */
  readonly columns?: Cut | undefined
}
export interface WeightPart {
  /** Canonical name, e.g. `layers.0.attn_q.weight`. */
  readonly name: string
  readonly n: number
  /** The `n` rows that this shard holds. Absent: all. */
  readonly rows?: Runs | undefined
}
/** A range of columns that begins at `first`, out of `whole` stored columns. */
export interface Cut {
  readonly first: number
  readonly whole: number
}
/** Runs of rows taken from `whole` stored rows and joined in this order. */
export interface Runs {
  readonly whole: number
  readonly runs: readonly Range[]
}

/**
 * How keys and values are stored. `int8`: codes with a scale and an offset per position and KV head. `fp8`:
 * e3m4 with a scale per position and KV head.
 */
export interface KvFormat {
  /** Keys. Default `f32`. */
  readonly k: 'f32' | 'int8'
  /** Values. Default `f32`. */
  readonly v: 'f32' | 'int8' | 'fp8'
}
export const KEY_FORMATS: readonly KvFormat['k'][] = ['f32', 'int8']
export const VALUE_FORMATS: readonly KvFormat['v'][] = ['f32', 'int8', 'fp8']
export const EXACT_KV: KvFormat = Object.freeze({ k: 'f32', v: 'f32' })

/** Layers that share a block table: their state has the same shape and window. */
export interface StateGroup {
  readonly kvHeads: number
  readonly headDim: number
  /** Positions that a row attends to. 0: all. */
  readonly window: number
  readonly format: KvFormat
  /**
   * True if keys are stored without part of their bias (`StaticBias`). Saved states with and without it are
   * not interchangeable.
   */
  readonly lessBias?: true | undefined
  /** The layers of this group, in block order. */
  readonly layers: readonly number[]
  /** On a shard: the index of its first KV head in the model, and how many KV heads the model has. */
  readonly held?: { readonly first: number; readonly whole: number } | undefined
}

/**
 * The inputs of a recurrence: values, step sizes before softplus, gates, and how rows enter and leave the
 * state.
 */
export interface ScanInputs {
  readonly x: Value
  readonly dt: Value
  readonly z: Value
  readonly b: Value
  readonly c: Value
}

/** A value for `after`: attention sees every row of the sequence. */
export const EVERY_POSITION = 2 ** 32 - 1

export interface AttentionShape {
  /** The layer whose keys and values are read. */
  readonly layer: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly window: number
  /**
   * How many positions of the step after its own a row attends to; `EVERY_POSITION`: all. All rows of a
   * sequence must then be in one step. Default 0.
   */
  readonly after?: number | undefined
  /** Query heads per KV head. Default: the query heads are divided evenly. */
  readonly ratio?: number | undefined
  /** How many query heads of its first KV head this shard lacks. Default 0. */
  readonly absent?: number | undefined
}
/** `gelu` is the tanh approximation, `relu2` the square of `relu`. */
/** A range that values are limited to: least <= 0 <= most. */
export interface Limits {
  readonly least: number
  readonly most: number
}

export type Activation =
  | ('silu' | 'gelu' | 'gelu_exact' | 'gelu_quick' | 'sigmoid')
  | ('relu' | 'relu2' | 'xielu' | 'none')

/** How a router's logits become expert weights. */
export interface RouteRule {
  readonly experts: number
  /** Number of experts per row. */
  readonly used: number
  /** Divide the weights of the chosen experts by their sum. */
  readonly normalize: boolean
  /**
   * `softmax`, the default, over all experts. `sigmoid` of each logit. `mixer`: choices are made one after
   * another, each with a softmax over the remaining logits that are close to the largest (SparseMixer).
   */
  readonly scoring?: 'softmax' | 'sigmoid' | 'mixer' | undefined
  /**
   * Experts are chosen only from the best `used` of `count` equal groups. A group's score is the sum of its
   * `best` (1 or 2) best experts.
   */
  readonly groups?: { readonly count: number; readonly used: number; readonly best: number } | undefined
  /** Factor of the weights. Default 1. */
  readonly scale?: number | undefined
  /**
   * Added to the sum by which the weights are divided. For a mixer, half of the distance that counts as
   * close. Default 0.
   */
  readonly epsilon?: number | undefined
}

/** xIELU: `above` x^2 + `slope` x for x above 0, else `below` (e^min(x, `epsilon`) - 1 - x) + `slope` x. */
export interface Xielu {
  readonly above: number
  readonly below: number
  readonly slope: number
  readonly epsilon: number
}

/** Norms of q and k: RMS norms before the rotation, unless the flags say otherwise. */
export interface HeadNorms {
  readonly q: WeightRef
  /** Absent if the layer has no keys. */
  readonly k?: WeightRef | undefined
  /** Added after the weights. Default: nothing. */
  readonly qBias?: WeightRef
  readonly kBias?: WeightRef
  /** What one norm covers: a head, or all heads of a row. */
  readonly over: 'head' | 'row'
  /** The mean is subtracted first, as in a layer norm. */
  readonly isCentred?: true
  /** True if each head's norm has its own weights, so that q and k have one weight per value of the row. */
  readonly hasWeightOfEach?: true
  /** True if the norm runs after the rotation. */
  readonly isLater?: true
  /** True if each head of v is normalised too, by an RMS norm without weights. */
  readonly ofValues?: true
  readonly epsilon: number
}

/**
 * A bias that is subtracted from rotated keys, in the pairs from `from` on and in the dimensions without
 * rotation.
 */
export interface StaticBias {
  /** The bias of all KV heads. */
  readonly bias: WeightRef
  readonly from: number
}

/** A bias added to scores, by head and by how far a position is after the row's own. */
export interface DistanceBias {
  /** A vector with the `biasColumns` of each head. The first column is for the distance -reach. */
  readonly table: WeightRef
  /** The last position that a row may have. */
  readonly reach: number
}
/** A kernel reads whole blocks of positions, so unused columns follow the columns of all distances. */
export const biasColumns = (reach: number): number => 2 * reach + ABI.BLOCK_POSITIONS

export interface RopeUse {
  /** Index of the step's table of cosines and sines. */
  readonly table: number
  /** The table for queries, if it differs. */
  readonly queryTable?: number | undefined
  readonly dims: number
  readonly pairing: 'halves' | 'interleaved'
}

/** The outputs of a node whose kernel can write f32 rows, a8 rows or both. Families request only `output`. */
export interface Quantizable {
  readonly output?: Value
  readonly quantized?: Value
}
