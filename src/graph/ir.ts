// The IR. In: nothing. Out: nodes and values of one model step, with symbolic dimensions and weights by name.

import type { Range } from './shard/divide.ts'

/**
 * A known size, or the symbol of a size that each step brings: the rows of the step (`tokens`), the rows
 * whose logits are wanted (`logitRows`), or the rows of the step counted once for each expert that they are
 * routed to.
 */
export type Dim = number | 'tokens' | 'logitRows' | `tokens*${number}`

/** [rows, width] */
export type Shape = readonly [Dim, number]

/** Rows that one node makes. */
export interface Value {
  readonly id: number
  readonly shape: Shape
  /** `a8`: int8 codes with a scale per group of 32, as quantised kernels read them. */
  readonly form: 'f32' | 'a8'
  /** A name for prints, e.g. `layers.3.attn_norm`. */
  readonly label: string
}

/** A stored matrix [n, k] or vector [n] (k is 1), by the names of its parts. Parts are stacked along n. */
export interface WeightRef {
  readonly parts: readonly WeightPart[]
  readonly k: number
  readonly kind: 'matrix' | 'vector'
  /** The `k` columns that are held. Absent: all. */
  readonly columns?: Cut | undefined
}
export interface WeightPart {
  /** Canonical name, e.g. `layers.0.attn_q.weight`. */
  readonly name: string
  readonly n: number
  /** The `n` rows that are held. Absent: all. */
  readonly rows?: Runs | undefined
}
/** A run of columns that begins at `first`, out of `whole` stored columns. */
export interface Cut {
  readonly first: number
  readonly whole: number
}
/** Runs of rows, one after the other, out of `whole` stored rows. */
export interface Runs {
  readonly whole: number
  readonly runs: readonly Range[]
}

/**
 * How keys and values are stored. `int8`: codes with a scale and an offset per position and KV head. `fp8`:
 * e4m3 with a scale per position and KV head.
 */
export interface KvFormat {
  readonly k: 'f32' | 'int8'
  readonly v: 'f32' | 'int8' | 'fp8'
}
export const EXACT_KV: KvFormat = Object.freeze({ k: 'f32', v: 'f32' })

/** Layers that share a block table: their state has one shape and one window. */
export interface StateGroup {
  readonly kvHeads: number
  readonly headDim: number
  /** Positions that a row attends to. 0: all. */
  readonly window: number
  readonly format: KvFormat
  /** The layers of this group, in block order. */
  readonly layers: readonly number[]
  /** On a shard: the index of its first KV head in the model, and how many KV heads the model has. */
  readonly held?: { readonly first: number; readonly whole: number } | undefined
}

/** The outputs of a node whose kernel can write f32 rows, a8 rows or both. Families ask for `output` only. */
interface Quantizable {
  readonly output?: Value
  readonly quantized?: Value
}

export type Node =
  | {
      readonly op: 'embed'
      readonly output: Value
      readonly table: WeightRef
      readonly scale: number
      /** What selects a row of the table: the token's id or its position. */
      readonly by: 'id' | 'position'
    }
  | ({
      readonly op: 'rmsnorm'
      readonly input: Value
      readonly weight: WeightRef
      readonly epsilon: number
      /** Equal parts of a row, each normalised separately. Default: one. */
      readonly parts?: number
    } & Quantizable)
  | ({
      readonly op: 'layernorm'
      readonly input: Value
      readonly weight: WeightRef
      readonly bias?: WeightRef | undefined
      readonly epsilon: number
    } & Quantizable)
  /**
   * Converts f32 rows to a8 rows. Used where the producer cannot write a8 rows, and where the readers have
   * their inputs in another order or need the same scale in all groups.
   */
  | {
      readonly op: 'quantize'
      readonly input: Value
      readonly output: Value
      readonly order?: WeightRef | undefined
      readonly whole?: boolean
    }
  /** With `residual`, the product is added to it, which overwrites it. */
  | {
      readonly op: 'linear'
      readonly input: Value
      readonly output: Value
      readonly weight: WeightRef
      readonly bias?: WeightRef | undefined
      readonly residual?: Value | undefined
    }
  /** Columns [start, start + width) of a value: one part of a merged linear. Costs nothing in the plan. */
  | {
      readonly op: 'slice'
      readonly input: Value
      readonly output: Value
      readonly start: number
      readonly width: number
    }
  /**
   * Normalises q and k if asked, rotates them, and writes k and v to the state of `layer`. Yields the rotated
   * q. Overwrites k too.
   */
  | {
      readonly op: 'ropeKv'
      readonly q: Value
      readonly k: Value
      readonly v: Value
      readonly output: Value
      readonly attention: AttentionShape
      readonly rope: RopeUse
      readonly norms?: HeadNorms | undefined
    }
  | ({
      readonly op: 'attention'
      readonly input: Value
      readonly attention: AttentionShape
      readonly scale: number
      /** A score s becomes cap * tanh(s / cap). 0: scores are not capped. */
      readonly cap: number
    } & Quantizable)
  /** activation(gate) * up. Without `up`: activation(gate). */
  | ({
      readonly op: 'swiglu'
      readonly gate: Value
      readonly up?: Value | undefined
      readonly activation: Activation
    } & Quantizable)
  /**
   * `swiglu` of the two halves of a linear, as a8 rows only: neither the product nor its gates are stored.
   * `fuseGates` makes it from linears that read a8 rows.
   */
  | {
      readonly op: 'linearSwiglu'
      readonly input: Value
      readonly weight: WeightRef
      readonly bias?: WeightRef | undefined
      readonly activation: Activation
      readonly output?: undefined
      readonly quantized: Value
    }
  /**
   * A causal convolution of each channel with its own `taps` weights, then the activation. The inputs of
   * earlier steps are state.
   */
  | ({
      readonly op: 'conv1d'
      readonly input: Value
      /** A [channels, taps] matrix. */
      readonly weight: WeightRef
      readonly bias?: WeightRef | undefined
      readonly activation: Activation
    } & Quantizable)
  /** The selective scan of Mamba, gated by z. `decay` is a [channels, states] matrix: A log2(e). */
  | ({ readonly op: 'scan'; readonly decay: WeightRef; readonly skip: WeightRef } & ScanInputs & Quantizable)
  /** The state space layer of Mamba-2, gated by z. */
  | ({
      readonly op: 'ssd'
      readonly decay: WeightRef
      readonly skip: WeightRef
      readonly dtBias: WeightRef
      readonly heads: number
      readonly groups: number
      /** Smallest and largest step size after softplus. Default: no limits. */
      readonly stepLimit?: readonly [number, number] | undefined
      readonly output: Value
    } & ScanInputs)
  /** left + scale * right */
  | {
      readonly op: 'add'
      readonly left: Value
      readonly right: Value
      readonly scale: number
      readonly output: Value
    }
  /** input * scale, then soft-capped as attention scores are. */
  | {
      readonly op: 'rescale'
      readonly input: Value
      readonly scale: number
      readonly cap: number
      readonly output: Value
    }
  /**
   * Chooses the experts of each row by a router's logits. The output is a route, which only the next three
   * ops read.
   */
  | {
      readonly op: 'route'
      readonly input: Value
      readonly experts: number
      readonly used: number
      readonly normalize: boolean
      readonly output: Value
    }
  /** Copies each row once for each of its experts. The rows of an expert lie together. */
  | {
      readonly op: 'gather'
      readonly input: Value
      readonly route: Value
      readonly experts: number
      readonly used: number
      readonly output: Value
    }
  /** Gathered rows times the matrix of their expert. The parts of `weight` are the experts' matrices. */
  | {
      readonly op: 'linearExperts'
      readonly input: Value
      readonly route: Value
      readonly weight: WeightRef
      readonly output: Value
    }
  /** Goes back to the rows of the step: each is the weighted sum over its experts. */
  | {
      readonly op: 'combine'
      readonly input: Value
      readonly route: Value
      readonly experts: number
      readonly used: number
      readonly output: Value
    }
  /**
   * Sums what all shards made of `input`, in shard order, onto the residual, which is overwritten. Every
   * shard gets the same bits. Without a residual, the input is overwritten.
   */
  | {
      readonly op: 'exchange'
      readonly input: Value
      readonly residual?: Value | undefined
      readonly shard: number
      readonly shards: number
      readonly output: Value
    }
  /**
   * With `x`: `input` is a product of normalised rows of x, which have `size` values. Undoes that norm and
   * writes the sum of the squares of x after the input, at the next whole group of columns. Without `x`:
   * divides by the norm of `size` values, whose sum of squares lies there. Overwrites the input, which has
   * `width` values.
   */
  | {
      readonly op: 'renorm'
      readonly input: Value
      readonly x?: Value | undefined
      readonly width: number
      readonly size: number
      readonly epsilon: number
      readonly output: Value
    }
  /**
   * Puts the columns that each shard made side by side on the first shard. The other shards only send theirs.
   */
  | {
      readonly op: 'collect'
      readonly input: Value
      readonly shard: number
      /** How many columns each shard made. */
      readonly widths: readonly number[]
      readonly output: Value
    }
  /** Keeps the rows whose logits are wanted. Costs nothing in the plan: the next norm gathers them. */
  | { readonly op: 'takeRows'; readonly input: Value; readonly output: Value }

export type NodeOf<Op extends Node['op']> = Extract<Node, { op: Op }>

/**
 * What a recurrence reads: inputs, step sizes before softplus, gates, and how rows enter and leave the state.
 */
export interface ScanInputs {
  readonly x: Value
  readonly dt: Value
  readonly z: Value
  readonly b: Value
  readonly c: Value
}

export interface AttentionShape {
  readonly layer: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly window: number
  /** Query heads per KV head. Default: the query heads are divided evenly. */
  readonly ratio?: number | undefined
  /** Query heads of the first KV head that this shard does not hold. Default 0. */
  readonly absent?: number | undefined
}
/** `gelu` is the tanh approximation. */
export type Activation = 'silu' | 'gelu' | 'gelu_exact' | 'none'

/** RMS norms that q and k get before they are rotated. */
export interface HeadNorms {
  readonly q: WeightRef
  readonly k: WeightRef
  /** What one norm covers: a head, or all heads of a row. */
  readonly over: 'head' | 'row'
  readonly epsilon: number
}

export interface RopeUse {
  /** Index of the step's table of cosines and sines. */
  readonly table: number
  readonly dims: number
  readonly pairing: 'halves' | 'interleaved'
}

/** One step of a model. Nodes are in execution order, and each value is made once. */
export interface Graph {
  readonly nodes: readonly Node[]
  readonly output: Value
  /** The hidden states after the last norm, from which the logits are made. */
  readonly hidden: Value
  readonly stateGroups: readonly StateGroup[]
}
