// Constants. In: nothing. Out: the constants and enums that TypeScript shares with wasm/core/abi.h, by C
// name.

/** Anonymous constants of wasm/core/abi.h. */
export const ABI = {
  /** Bytes of every op record. */
  OP_BYTES: 112,
  /** Positions of a KV block. */
  BLOCK_POSITIONS: 64,
  /** Weights along K that share one scale. Output rows are padded to a multiple of it too. */
  GROUP: 32,
  /** Output rows interleaved in one panel. */
  PANEL: 8,
  /** A stored f16 scale is 2^SCALE_EXPONENT times the scale in the file. */
  SCALE_EXPONENT: 8,
  /** Block tables of one sequence. */
  MAX_STATE_GROUPS: 4,
  MAX_ROPES: 4,
  SLICES: 8,
  CLAIM_WORDS: 128,
  /** In steps of up to this many rows, threads split the positions of one row among them. */
  SPLIT_ROWS: 8,
  MAX_SEGMENTS: 16,
  PART_SUMS: 12,
} as const

/** What one row of an op represents: `enum rows`. */
export const ROWS = { tokens: 0, logits: 1, routed: 2 } as const

/** The activation function of a gate: `enum activation`. */
export const ACTIVATION = { silu: 0, gelu: 1, none: 2, gelu_exact: 3 } as const

/** Where the two numbers of a rotated pair are in a head: `enum pairing`. */
export const PAIRING = { halves: 0, interleaved: 1 } as const

/** How keys and values are stored: `enum kv_format`. */
export const KV_FORMAT = { f32: 0, int8: 1, fp8: 2 } as const

/** Positions of a KV block. */
export const { BLOCK_POSITIONS } = ABI
