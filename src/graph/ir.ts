// The IR. In: nothing. Out: nodes and values of one model step, with symbolic dimensions and weights by name.

import type { Range } from './shard/divide.ts'

/**
 * A size that is known, or the symbol of one that each step brings: rows of this step, rows whose logits are wanted, rows of
 * this step once for each expert that they are routed to.
 */
export type Dim = number | 'tokens' | 'logitRows' | `tokens*${number}`

/** [rows, width] */
export type Shape = readonly [Dim, number]

/** Rows made by one node. */
export interface Value {
  readonly id: number
  readonly shape: Shape
  /** `a8`: int8 codes with a scale per group of 32, as quantised kernels read them. */
  readonly form: 'f32' | 'a8'
  /** For prints, e.g. `layers.3.attn_norm`. */
  readonly label: string
}

/** A stored matrix [n, k] or vector [n] (k 1), by the names of its parts; parts are stacked along n. */
export interface WeightRef {
  readonly parts: readonly WeightPart[]
  readonly k: number
  readonly kind: 'matrix' | 'vector'
  /** The columns that are held, `k` of them; absent: all. */
  readonly columns?: Cut | undefined
}
export interface WeightPart {
  /** Canonical name, e.g. `layers.0.attn_q.weight`. */
  readonly name: string
  readonly n: number
  /** The rows that are held, `n` of them; absent: all. */
  readonly rows?: Runs | undefined
}
/** A run of columns that begins at `first`, of `whole` that are stored. */
export interface Cut {
  readonly first: number
  readonly whole: number
}
/** Runs of rows, one behind the other, of `whole` that are stored. */
export interface Runs {
  readonly whole: number
  readonly runs: readonly Range[]
}

/** How keys and values are stored. `int8`: codes with a scale and an offset per position and KV head; `fp8`: e4m3 with a scale. */
export interface KvFormat {
  readonly k: 'f32' | 'int8'
  readonly v: 'f32' | 'int8' | 'fp8'
}
export const EXACT_KV: KvFormat = Object.freeze({ k: 'f32', v: 'f32' })

/** Layers whose state has one shape and one window share a block table. */
export interface StateGroup {
  readonly kvHeads: number
  readonly headDim: number
  /** Positions attended to; 0: all. */
  readonly window: number
  readonly format: KvFormat
  /** Layers in this group, in block order. */
  readonly layers: readonly number[]
  /** Of a shard: which of the model's KV heads is its first, and how many the model has. */
  readonly held?: { readonly first: number; readonly whole: number } | undefined
}

/** The outputs of a node whose kernel writes f32 rows, a8 rows, or both at once. Families ask for `output` only. */
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
      /** Whose rows are looked up. */
      readonly by: 'id' | 'position'
    }
  | ({
      readonly op: 'rmsnorm'
      readonly input: Value
      readonly weight: WeightRef
      readonly epsilon: number
      /** Equal parts of a row, each normalised on its own; default: one. */
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
   * f32 rows to a8 rows, where the producer cannot make them, or where those that read them have their inputs in another order
   * or need the same scale in all groups.
   */
  | {
      readonly op: 'quantize'
      readonly input: Value
      readonly output: Value
      readonly order?: WeightRef | undefined
      readonly whole?: boolean
    }
  /** With `residual` the product is added to it: it is overwritten. */
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
  /** Norms q and k if asked, rotates them, then writes k and v to the state of `layer`; yields the rotated q. Overwrites k too. */
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
      /** Scores s become cap * tanh(s / cap); 0: they stay. */
      readonly cap: number
    } & Quantizable)
  /** activation(gate) * up, or without `up` the activation alone. */
  | ({
      readonly op: 'swiglu'
      readonly gate: Value
      readonly up?: Value | undefined
      readonly activation: Activation
    } & Quantizable)
  /**
   * `swiglu` of the two halves of a linear, as a8 rows alone: neither the product nor its gates are kept. Made by
   * `fuseGates` of linears that read a8 rows.
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
  /** The activation of a causal convolution of each channel with its own `taps` weights; inputs of earlier steps are state. */
  | ({
      readonly op: 'conv1d'
      readonly input: Value
      /** Matrix of [channels, taps]. */
      readonly weight: WeightRef
      readonly bias?: WeightRef | undefined
      readonly activation: Activation
    } & Quantizable)
  /** The selective scan of Mamba, gated by z; `decay` is a matrix of [channels, states]: A log2(e). */
  | ({ readonly op: 'scan'; readonly decay: WeightRef; readonly skip: WeightRef } & ScanInputs & Quantizable)
  /** The state space layer of Mamba-2, gated by z. */
  | ({
      readonly op: 'ssd'
      readonly decay: WeightRef
      readonly skip: WeightRef
      readonly dtBias: WeightRef
      readonly heads: number
      readonly groups: number
      /** Least and most of a step size behind its softplus; default: none. */
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
  /** input * scale, then soft-capped as scores are. */
  | {
      readonly op: 'rescale'
      readonly input: Value
      readonly scale: number
      readonly cap: number
      readonly output: Value
    }
  /** Which experts each row goes to, by the logits of a router; the output is a route, that only the next three read. */
  | {
      readonly op: 'route'
      readonly input: Value
      readonly experts: number
      readonly used: number
      readonly normalize: boolean
      readonly output: Value
    }
  /** Each row once for each of its experts, those of an expert together. */
  | {
      readonly op: 'gather'
      readonly input: Value
      readonly route: Value
      readonly experts: number
      readonly used: number
      readonly output: Value
    }
  /** Gathered rows times the matrix of their expert; the parts of `weight` are the experts'. */
  | {
      readonly op: 'linearExperts'
      readonly input: Value
      readonly route: Value
      readonly weight: WeightRef
      readonly output: Value
    }
  /** Back to the rows of the step: the weighted sums over their experts. */
  | {
      readonly op: 'combine'
      readonly input: Value
      readonly route: Value
      readonly experts: number
      readonly used: number
      readonly output: Value
    }
  /**
   * Sums what all shards made of `input`, in the order of the shards, onto the residual, which is overwritten: the same
   * bits on every shard. Without a residual the input is overwritten.
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
   * With `x`, takes back the norm of x, `size` values, on whose product `input` was made, and puts the sum of their squares behind
   * it, at the next whole group of columns; without, divides by the norm of `size` values whose sum of squares lies there. The
   * input, of `width` values, is overwritten.
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
  /** Puts the columns that each shard made side by side, on the first shard; the others only give theirs. */
  | {
      readonly op: 'collect'
      readonly input: Value
      readonly shard: number
      /** Columns of each shard. */
      readonly widths: readonly number[]
      readonly output: Value
    }
  /** Keeps the rows whose logits are wanted. Costs nothing in the plan: the norm behind it gathers. */
  | { readonly op: 'takeRows'; readonly input: Value; readonly output: Value }

export type NodeOf<Op extends Node['op']> = Extract<Node, { op: Op }>

/** What the recurrences read: inputs, step sizes before softplus, gates, and how each row enters and leaves the state. */
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
  /** Query heads of one KV head; default: they are shared out evenly. */
  readonly ratio?: number | undefined
  /** Query heads of the first KV head that are not here. Default 0. */
  readonly absent?: number | undefined
}
/** `gelu` is the approximation by tanh. */
export type Activation = 'silu' | 'gelu' | 'gelu_exact' | 'none'

/** RMS norms of q and k before they are rotated. */
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

/** One step of a model. Nodes are in execution order; each value is made once. */
export interface Graph {
  readonly nodes: readonly Node[]
  readonly output: Value
  /** What the logits are made of: the hidden states behind the last norm. */
  readonly hidden: Value
  readonly stateGroups: readonly StateGroup[]
}
