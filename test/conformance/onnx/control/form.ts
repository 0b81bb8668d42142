// What small decoders may have: how they mask, place, rotate, count, copy and keep states.
import type { NodeWriter } from '../../../../src/network/onnx/testing/node-writer.ts'
import type { WrittenNode } from '../../../../src/network/onnx/testing/write-model.ts'
import type { ConvolutionForm } from './convolutions.ts'
import type { Activation } from './layers.ts'
import type { Neighbours } from './turns.ts'

/** What control is made of: scalars, positions of the tokens [tokens], all positions [total]. */
export interface Places {
  readonly tokens: string
  readonly past: string
  readonly total: string
  readonly rows: string
  readonly columns: string
}

export type StateKind = 'key' | 'value'
export interface StatePlace {
  readonly layer: number
  readonly kind: StateKind
}

/** Functions write nodes and return the name of what they made. */
export interface DecoderForm {
  /** `standard`: Attention of opset 23 on rows. */
  readonly attention?: 'primitive' | 'multi-head' | 'group' | 'standard'
  readonly layers?: number
  readonly heads?: number
  readonly kvHeads?: number
  /** Default true. */
  readonly hasState?: boolean
  readonly seed?: number
  /** Which positions each token sees, [tokens, total] or [heads, tokens, total]. Gets the causal one. */
  readonly seen?: (g: NodeWriter, seen: string, places: Places) => string
  /** What is added to the scores of what is seen. Same shapes. */
  readonly bias?: (g: NodeWriter, places: Places) => string
  /** How scores are masked. Default added. */
  readonly form?: 'added' | 'kept' | 'dropped'
  /** A second mask, after the first, of primitive operators. `seen`: as above, or [1, total]. */
  readonly again?: {
    readonly form: 'added' | 'kept' | 'dropped'
    readonly seen: (g: NodeWriter, places: Places) => string
  }
  /** Default silu. */
  readonly activation?: Activation
  /** Positions of the tokens for embeddings and rotations, [1, tokens]. Gets the usual ones. */
  readonly positions?: (g: NodeWriter, positions: string, places: Places) => string
  /** How positions are told: `rope` in primitive operators, `op` with tables, learned, or not at all. */
  readonly places?: 'rope' | 'op' | 'learned' | 'none'
  /**
   * Leading numbers of a head that `rope` turns; the others are cut off and put back. Default: all, uncut.
   */
  readonly turned?: number
  /** `rope` turns neighbours together, whose pairs are taken apart so. Default: halves of a head. */
  readonly neighbours?: Neighbours
  /** How each angle is written twice. Default: as heads turn. */
  readonly angleOrder?: 'halves' | 'neighbours'
  /** `rope` turns heads before they change places with tokens. Default: after that. */
  readonly turnsFirst?: boolean
  /**
   * How queries, keys and values, and gate and up, are cut from one product each. `by-head`: each head has
   * its queries, keys and values side by side, as in GPT-NeoX; there are as many heads of keys. Default:
   * from their own products.
   */
  readonly merged?: 'slice' | 'split' | 'by-head'
  /**
   * How the matrix of the logits is made of one that stays in its file: of the embeddings, of f16, or of rows
   * with another shape. Default: it is its own constant.
   */
  readonly head?: 'transposed' | 'cast' | 'reshaped'
  /**
   * The product after attention is MatMulNBits. `isMixed`: inputs have the scales of drawn blocks (g_idx).
   * Default: it is one of floats.
   */
  readonly blocks?: {
    /** MatMulBnb4 instead: 0 for FP4, 1 for NF4. */
    readonly levels?: 0 | 1
    readonly bits: 2 | 4 | 8
    readonly block: number
    readonly hasZeros?: boolean
    readonly isMixed?: boolean
  }
  /**
   * How heads of keys and values are copied: along their own axis, by Tile there, by numbers of a list,
   * or the only one along its axis. Default: expand.
   */
  readonly copies?: 'expand' | 'tile' | 'gather' | 'tile heads' | 'expand heads'
  /** Scores are this number times the tanh of themselves over it. Default: they are not capped. */
  readonly cap?: number
  /** Keys are transposed with texts and heads on one axis, as torch's exporter does. Default: false. */
  readonly joinsHeads?: boolean
  /** Name of the mask's axis of positions. Default: `past + tokens`. */
  readonly maskAxis?: string
  /**
   * Name of a state's axis of positions. Where it is given, sizes of all layers are made of the first state,
   * as torch's exporter makes them. Default: `past` for all.
   */
  readonly stateAxis?: (place: StatePlace) => string
  /** Angles of the tokens, [1, tokens, turned / 2]. Gets positions times frequencies. */
  readonly angles?: (g: NodeWriter, angles: string, places: Places) => string
  /** Base of the rotation at a position; one base unless a table changes it. */
  readonly tableBase?: (position: number) => number
  /**
   * Whether a step rotates by a second pair of tables, of base 500: an If chooses, as in LongRoPE.
   */
  readonly isLong?: (g: NodeWriter, places: Places) => string
  /** RotaryEmbedding is told how many heads its rows have. Default true. */
  readonly countsHeads?: boolean
  /** Rows of tables, of rotations and of learned positions. */
  readonly tableRows?: number
  /** `seqlens_k` of GroupQueryAttention, [batch]. */
  readonly lengths?: (g: NodeWriter, lengths: string, places: Places) => string
  readonly window?: number
  /** Attention hides later positions by itself and has no mask, and gives its scores out. Default: false. */
  readonly isCausal?: boolean
  readonly givesScores?: boolean
  /**
   * Heads of the queries and keys of GroupQueryAttention are normed by itself, or by nodes before it.
   * Default: they are not.
   */
  readonly headNorms?: 'inside' | 'apart'
  /** Attributes that GroupQueryAttention has besides. */
  readonly stated?: NonNullable<WrittenNode['attributes']>
  /** GroupQueryAttention has a sink for each head. Default: false. */
  readonly hasSinks?: boolean
  /** Before its attention, each layer adds a short convolution, as layers of LFM2. Default: none. */
  readonly convolution?: ConvolutionForm
  /** Rows between a product and its activation. */
  readonly rowsOp?: (g: NodeWriter, rows: string) => string
  /** The state that keys or values of a layer are joined to, and what comes out for a state. */
  readonly pastOf?: (place: StatePlace) => StatePlace
  readonly presentOf?: (place: StatePlace) => StatePlace
  /** What is done to a state before it comes out. */
  readonly presentOp?: (g: NodeWriter, present: string, place: StatePlace) => string
  /** More inputs of whole numbers, [batch, tokens]. */
  readonly inputs?: readonly string[]
  /** What is done to the nodes at the end. */
  readonly edit?: (g: NodeWriter) => void
}
