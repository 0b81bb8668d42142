// The options of small decoders: masks, positions, rotations, lengths, copies of heads, and states.
import type { NodeWriter } from '../../../../src/network/onnx/testing/node-writer.ts'
import type { WrittenNode } from '../../../../src/network/onnx/testing/write-model.ts'
import type { ConvolutionForm } from './convolutions.ts'
import type { Activation } from './layers.ts'
import type { Neighbours } from './turns.ts'

/** The ingredients of control values: scalars, token positions [tokens], all positions [total]. */
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

/** Functions add nodes and return the name of their result. */
export interface DecoderForm {
  /** `standard`: Attention of opset 23 on rows. */
  readonly attention?: 'primitive' | 'multi-head' | 'group' | 'standard'
  readonly layers?: number
  readonly heads?: number
  readonly kvHeads?: number
  /** Default true. */
  readonly hasState?: boolean
  readonly seed?: number
  /**
   * The positions that each token sees, [tokens, total] or [heads, tokens, total]. Receives the causal mask.
   */
  readonly seen?: (g: NodeWriter, seen: string, places: Places) => string
  /** Values added to the scores of visible positions, with the same shapes. */
  readonly bias?: (g: NodeWriter, places: Places) => string
  /** How scores are masked. Default `added`. */
  readonly form?: 'added' | 'kept' | 'dropped'
  /** A second mask, after the first, of primitive operators. `seen`: as above, or [1, total]. */
  readonly again?: {
    readonly form: 'added' | 'kept' | 'dropped'
    readonly seen: (g: NodeWriter, places: Places) => string
  }
  /** Default silu. */
  readonly activation?: Activation
  /** Positions of the tokens for embeddings and rotations, [1, tokens]. Receives the default positions. */
  readonly positions?: (g: NodeWriter, positions: string, places: Places) => string
  /** How positions are encoded: `rope` in primitive operators, `op` with tables, learned, or not at all. */
  readonly places?: 'rope' | 'op' | 'learned' | 'none'
  /**
   * Leading numbers of a head that `rope` rotates; the rest is split off and appended. Default: all, unsplit.
   */
  readonly turned?: number
  /** How `rope` splits interleaved pairs. Default: it rotates halves of a head instead. */
  readonly neighbours?: Neighbours
  /** How each angle is duplicated. Default: matching the rotation. */
  readonly angleOrder?: 'halves' | 'neighbours'
  /** Whether `rope` rotates heads before they are swapped with tokens. Default: afterwards. */
  readonly turnsFirst?: boolean
  /**
   * How queries, keys and values, and gate and up, are split from one product each. `by-head`: each head's
   * queries, keys and values are adjacent, as in GPT-NeoX; there are as many heads of keys. Default: from
   * their own products.
   */
  readonly merged?: 'slice' | 'split' | 'by-head'
  /**
   * How the logits matrix is derived from one that stays in its file: from the embeddings, from f16, or from
   * rows of another shape. Default: it is a separate constant.
   */
  readonly head?: 'transposed' | 'cast' | 'reshaped'
  /**
   * The product after attention is MatMulNBits. `isMixed`: inputs have the scales of random blocks (g_idx).
   * Default: a float product.
   */
  readonly blocks?: {
    /** MatMulBnb4 in its place: 0 for FP4, 1 for NF4. */
    readonly levels?: 0 | 1
    readonly bits: 2 | 4 | 8
    readonly block: number
    readonly hasZeros?: boolean
    readonly isMixed?: boolean
  }
  /**
   * How heads of keys and values are copied: along a separate axis, with Tile there, by a list of indices, or
   * a single one along its axis. Default: expand.
   */
  readonly copies?: 'expand' | 'tile' | 'gather' | 'tile heads' | 'expand heads'
  /** Soft cap: scores become cap * tanh(score / cap). Default: no cap. */
  readonly cap?: number
  /**
   * Whether keys are transposed with the batch and heads on one axis, as torch's exporter does. Default:
   * false.
   */
  readonly joinsHeads?: boolean
  /** Name of the mask's axis of positions. Default: `past + tokens`. */
  readonly maskAxis?: string
  /**
   * Name of a state's axis of positions. If given, all layers' sizes are computed from the first state, as
   * torch's exporter makes them. Default: `past` for all.
   */
  readonly stateAxis?: (place: StatePlace) => string
  /** Angles of the tokens, [1, tokens, turned / 2]. Receives positions times frequencies. */
  readonly angles?: (g: NodeWriter, angles: string, places: Places) => string
  /** Base of the rotation at a position. Default: the same base at every position. */
  readonly tableBase?: (position: number) => number
  /**
   * Whether a step rotates by a second pair of tables, of base 500. An If chooses between the two, as in
   * LongRoPE.
   */
  readonly isLong?: (g: NodeWriter, places: Places) => string
  /** Whether RotaryEmbedding states how many heads its rows have. Default true. */
  readonly countsHeads?: boolean
  /** Number of rows in tables of rotations and learned positions. */
  readonly tableRows?: number
  /** `seqlens_k` of GroupQueryAttention, [batch]. */
  readonly lengths?: (g: NodeWriter, lengths: string, places: Places) => string
  readonly window?: number
  /** Attention masks later positions itself, has no mask input, and outputs its scores. Default: false. */
  readonly isCausal?: boolean
  readonly givesScores?: boolean
  /**
   * Whether the operator or preceding nodes norm the heads of GroupQueryAttention's queries and keys.
   * Default: neither.
   */
  readonly headNorms?: 'inside' | 'apart'
  /** Further attributes of GroupQueryAttention. */
  readonly stated?: NonNullable<WrittenNode['attributes']>
  /** GroupQueryAttention has a sink for each head. Default: false. */
  readonly hasSinks?: boolean
  /** Each layer adds a short convolution before its attention, like LFM2's layers. Default: none. */
  readonly convolution?: ConvolutionForm
  /** Changes rows between a product and its activation. */
  readonly rowsOp?: (g: NodeWriter, rows: string) => string
  /** The state to which a layer's keys or values are appended, and the output for a state. */
  readonly pastOf?: (place: StatePlace) => StatePlace
  readonly presentOf?: (place: StatePlace) => StatePlace
  /** A change applied to a state before it is output. */
  readonly presentOp?: (g: NodeWriter, present: string, place: StatePlace) => string
  /** Additional integer inputs, [batch, tokens]. */
  readonly inputs?: readonly string[]
  /** A final edit of the nodes. */
  readonly edit?: (g: NodeWriter) => void
}
