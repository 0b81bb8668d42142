// Meanings: what a value of the ONNX graph represents in the model.
import type { RopePairing } from '../../../core/arch/config/config.ts'
import type { Activation, Limits, Value, WeightRef } from '../../../core/graph/ir.ts'
import type { Node } from '../ir/graph.ts'
import type { Terms } from './terms.ts'
import type { CodeMatrix } from './weights/code-matrix.ts'

/**
 * `rows`: one row of `value` for each token, whatever the batch and its rank. `state`: past keys or values,
 * an input. `present`: the same, followed by the keys or values of the step. `control`: masks, positions,
 * lengths, and anything computed from them and from shapes. `constant`: a weight that is not read yet.
 * `gate`: an activation of rows that a product may still join. `sigmoid`: the sigmoid of rows, until they are
 * multiplied by it. `scaled`: rows times a constant, which their only reader absorbs. `matrix`: a constant in
 * codes, with its scales. `codes`, `scales`: rows of a table of codes, or of its scales, by id or by
 * position; the first position is row `from`. `terms`: a recurrent layer's computation between its matrices.
 */
export type Meaning =
  | { readonly is: 'ids' }
  | { readonly is: 'rows'; readonly value: Value }
  | { readonly is: 'gate'; readonly value: Value; readonly activation: Activation }
  | { readonly is: 'sigmoid'; readonly value: Value }
  | Scaled
  | { readonly is: 'state'; readonly name: string }
  | { readonly is: 'present'; readonly of: string }
  | { readonly is: 'control'; readonly name: string }
  | { readonly is: 'constant'; readonly name: string }
  | StoredMatrix
  | { readonly is: 'codes'; readonly name: string; readonly from?: number }
  | { readonly is: 'scales'; readonly name: string }
  | Rounded
  | Quantised
  | WholeProduct
  | Statistic
  | Normed
  | Heads
  | HeadPart
  | HeadPairs
  | EveryOther
  | Turned
  | RotatedPart
  | Scores
  | { readonly is: 'gaps'; readonly of: Scores }
  | Terms

/** scale * x; with a cap above 0, cap * tanh(scale * x / cap), as in plans. */
export interface Scaled {
  readonly is: 'scaled'
  readonly value: Value
  readonly scale: number
  readonly cap: number
}

/** A constant matrix in codes, as a graph reads it. */
export interface StoredMatrix {
  readonly is: 'matrix'
  readonly parts: Omit<CodeMatrix, 'isTransposed'>
  /** Whether it is the transpose of the codes. */
  readonly isTransposed: boolean
  /**
   * The axis of the codes along which scales differ, or are not divided into blocks. Undefined for a single
   * scale.
   */
  readonly outputs: 0 | 1 | undefined
}

/** Values quantised with one constant scale, until they are read as floats again. */
export interface Rounded {
  readonly is: 'rounded'
  readonly of: Meaning
  readonly scale: number
  readonly zero: number
}

/** The results of DynamicQuantizeLinear on rows: their codes, the scale, the zero point. */
export interface Quantised {
  readonly is: 'quantised'
  readonly part: 'codes' | 'scale' | 'zero'
  readonly of: Value
  /** The constant that the scale was multiplied by, as node and input. */
  readonly by?: { readonly node: Node; readonly index: number } | undefined
}

/** A product of codes, in integers until it is multiplied by the scales. */
export interface WholeProduct {
  readonly is: 'product'
  readonly of: Value
  readonly node: Node
  /** Already multiplied by the rows' scale, but not yet by the matrix's. */
  readonly isScaled: boolean
  /** The constant scale of the rows, by which the scale of the matrix is multiplied beforehand. */
  readonly rowScale?: number
}

/**
 * Intermediate values of a norm over the last axis: `square` is x^2, `mean` the mean of x, `centred` x minus
 * its mean, `variance` the mean of squares, `root` its square root with epsilon, `inverse` 1 / root.
 */
export interface Statistic {
  readonly is: 'statistic'
  readonly step: 'square' | 'mean' | 'centred' | 'variance' | 'root' | 'inverse'
  readonly of: RowsMeaning
  /** Whether the mean was subtracted: a layer norm, not an RMS norm. */
  readonly isCentred: boolean
  readonly epsilon: number
}
export type RowsMeaning = Extract<Meaning, { is: 'rows' }> | Heads

/** Rows divided by their root mean square or standard deviation. A weight may still follow. */
export interface Normed {
  readonly is: 'normed'
  readonly of: RowsMeaning
  readonly isCentred: boolean
  readonly epsilon: number
  /** The weight that it was multiplied by, as node and input. */
  readonly weight?: { readonly node: Node; readonly index: number } | undefined
}

/** Rows as heads. */
export interface Heads {
  readonly is: 'heads'
  readonly value: Value
  readonly count: number
  readonly dim: number
  /**
   * Axes in order: b batch, t tokens, h heads, d numbers of a head, r copies of a head, 1 of size one; j
   * tokens and heads merged, f heads and their numbers merged, g batch and heads merged.
   */
  readonly axes: string
  /** How often each head is repeated, after `r` was merged into `h`. */
  readonly copies: number
  readonly scale: number
  readonly norm?: { readonly weight: WeightRef; readonly epsilon: number } | undefined
  readonly rope?: Rotation | undefined
  /** The range of the heads after norm and rotation, before `scale`. */
  readonly limits?: Limits | undefined
  /** The state before the tokens; `''` if there is none, as before a concatenation. */
  readonly past: string
}

/** How heads were rotated. */
export interface Rotation {
  /** Names of cosines and sines: rows of the step, or tables from which `positions` choose rows. */
  readonly cos: string
  readonly sin: string
  /** Leading numbers of a head that are rotated. */
  readonly dims: number
  /** Whether rows have dims / 2 numbers instead of each number twice. */
  readonly isHalf: boolean
  /** Whether they have an axis of heads between tokens and numbers. Default: it comes before the tokens. */
  readonly isBetween?: boolean
  readonly pairing: RopePairing
  readonly positions?: string | undefined
}

/**
 * Numbers [from, to) of each head: those that are rotated, or the queries of heads that combine all three.
 */
export interface HeadPart {
  readonly is: 'part'
  readonly of: Heads
  readonly from: number
  readonly to: number
  readonly sign: 1 | -1
}

/** The numbers [from, to) of each head as pairs of adjacent numbers, [.., (to - from) / 2, 2]. */
export interface HeadPairs {
  readonly is: 'pairs'
  readonly of: Heads
  readonly from: number
  readonly to: number
}

/** The first, or the second, numbers of such pairs. */
export interface EveryOther extends Omit<HeadPairs, 'is'> {
  readonly is: 'every other'
  readonly isSecond: boolean
  readonly sign: 1 | -1
  /** Whether they have a last axis of size one. */
  readonly isApart: boolean
}

/** Heads with swapped halves or neighbours, the new first one negated; or partially rotated heads. */
export interface Turned {
  readonly is: 'turned'
  readonly of: Heads
  /**
   * `plain`: x times `by`. `half`: the rotated x, times `by` if present. `pairs`: the same as pairs with an
   * axis of their own.
   */
  readonly form: 'plain' | 'half' | 'pairs'
  readonly pairing: RopePairing
  /** The numbers [from, from + dims) of a head are rotated. */
  readonly from: number
  readonly dims: number
  readonly by?: string | undefined
}

/** Rotated numbers of heads, starting at `from`, before the remaining numbers are appended. */
export interface RotatedPart {
  readonly is: 'rotated'
  /** The heads before the rotation. */
  readonly of: Heads
  readonly from: number
  readonly rope: Rotation
}

/** Scores of queries and keys, or their softmax. */
export interface Scores {
  readonly is: 'scores'
  readonly q: Heads
  readonly k: Heads
  readonly scale: number
  readonly cap: number
  /** The range of the scores after `scale`. */
  readonly limits?: Limits | undefined
  /**
   * `causal`: the operator itself hides later positions. With several masks, whatever one of them hides is
   * hidden.
   */
  readonly mask?: readonly Mask[] | 'causal' | undefined
  readonly isSoft: boolean
}
export interface Mask {
  readonly name: string
  /**
   * `added`: the mask is added to the scores; `besides`: the same, while the operator itself hides later
   * positions; `kept`, `dropped`: what happens to scores where the mask is true.
   */
  readonly form: 'added' | 'besides' | 'kept' | 'dropped'
}

/** A matrix that products read, and its outputs. */
export interface Matrix {
  readonly weight: WeightRef
  readonly n: number
}
