// Meanings. In: nothing. Out: what a value of the dialect stands for while a graph is translated.
import type { RopeScaling } from '../../arch/config/config.ts'
import type { Activation, Value, WeightRef } from '../../graph/ir.ts'

/**
 * `rows`: one row of `value` for each token, whatever the batch and its rank. `state`: past or present keys or
 * values. `control`: what says where tokens stand: masks, positions, lengths, and all that is computed of
 * them and of shapes. `constant`: a weight that is not read yet.
 * `gate`: an activation of rows that a product may still join. `sigmoid`: of rows, until they are multiplied by it.
 */
export type Meaning =
  | { readonly is: 'ids' }
  | { readonly is: 'rows'; readonly value: Value }
  | { readonly is: 'gate'; readonly value: Value; readonly activation: Activation }
  | { readonly is: 'sigmoid'; readonly value: Value }
  | { readonly is: 'state'; readonly name: string }
  | { readonly is: 'control' }
  | { readonly is: 'constant'; readonly name: string }

/** What handlers of operators find out about the whole model. */
export interface Findings {
  heads: number
  kvHeads: number
  headDim: number
  intermediateSize: number
  normEpsilon: number
  layers: number
  theta: number | undefined
  scaling: RopeScaling | undefined
  /** Dimensions of a head that are rotated; 0 where none are. */
  ropeDims: number
  /** Positions of the RoPE table or the learned ones; the model was trained for at most as many. */
  tablePositions: number | undefined
  readonly norms: Set<'rms' | 'layer'>
  /** Embeddings of positions that are added to those of tokens. */
  hasPositions: boolean
}

/** A matrix that products read, and its outputs. */
export interface Matrix {
  readonly weight: WeightRef
  readonly n: number
}
