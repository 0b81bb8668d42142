// Constants of wasm/core/abi.h: enums, and the word offsets of the step, sequence and sync blocks.

/** Anonymous constants of wasm/core/abi.h. */
export const ABI = {
  /** Size of an op record in bytes. */
  OP_BYTES: 128,
  /** Positions of a KV block. */
  BLOCK_POSITIONS: 64,
  /** Weights along K that share one scale. Output rows are padded to a multiple of this as well. */
  GROUP: 32,
  /** Output rows interleaved in one panel. */
  PANEL: 8,
  /** A stored f16 scale is 2^SCALE_EXPONENT times the scale in the file. */
  SCALE_EXPONENT: 8,
  /** Number of low bits of a token's word that hold its id. The bits above hold its kind. */
  ID_BITS: 24,
  /** A token word with this bit set stands for a row that the step supplies itself. */
  INPUT_BIT: 31,
  /** Maximum number of block tables per sequence. */
  MAX_STATE_GROUPS: 4,
  MAX_ROPES: 4,
  SLICES: 8,
  CLAIM_WORDS: 128,
  /** In steps with at most this many rows, threads divide the positions of one row among themselves. */
  SPLIT_ROWS: 8,
  MAX_SEGMENTS: 16,
  PART_SUMS: 12,
} as const

/** What one row of an op represents: `enum rows`. */
export const ROWS = { tokens: 0, logits: 1, routed: 2 } as const

/** The activation function of a gate: `enum activation`. */
export const ACTIVATION = {
  silu: 0,
  gelu: 1,
  none: 2,
  gelu_exact: 3,
  relu: 4,
  relu2: 5,
  xielu: 6,
  gelu_quick: 7,
  sigmoid: 8,
} as const

/** How a router's logits become scores: `enum scoring`. */
export const SCORING = { softmax: 0, sigmoid: 1, mixer: 2 } as const

/** What selects a row of a table: `enum selector`. */
export const SELECTOR = { id: 0, position: 1, kind: 2, input: 3 } as const

/** Which two numbers of a head form a rotated pair: `enum pairing`. */
export const PAIRING = { halves: 0, interleaved: 1 } as const

/** Norms of queries and keys, as bits: `enum norm_kind`. */
export const NORM = { row: 1, centred: 2, each: 4, later: 8, values: 16 } as const

/** How keys and values are stored: `enum kv_format`. */
export const KV_FORMAT = { f32: 0, int8: 1, fp8: 2 } as const

/** The types of stored rows that `repack` moves: `enum stored_type`. */
export const STORED_TYPE = { Q4_0: 0, Q4_1: 1, Q5_0: 2, Q8_0: 3, Q4_K: 4, Q5_K: 5, Q6_K: 6 } as const

/** Positions of a KV block. */
export const { BLOCK_POSITIONS } = ABI

/** Word index of each field of `struct step`; `ropes` has MAX_ROPES words. */
export const STEP = {
  tokens: 0,
  sequences: 1,
  logit_count: 2,
  ids: 3,
  sequence_of: 4,
  positions: 5,
  seqs: 6,
  logit_rows: 7,
  ropes: 8,
  inputs: 8 + ABI.MAX_ROPES,
} as const
export const STEP_WORDS = STEP.inputs + 1

/** Word index of each field of `struct sequence`; `tables` has MAX_STATE_GROUPS words. */
export const SEQUENCE = { row0: 0, rows: 1, position: 2, whole: 3, tables: 4 } as const
export const SEQUENCE_WORDS = SEQUENCE.tables + ABI.MAX_STATE_GROUPS

/**
 * Word index of each field of `struct sync`. Each word that several threads write has its own 64-byte cache
 * line.
 */
export const SYNC = {
  command: 0,
  plan: 16,
  step: 17,
  first: 18,
  last: 19,
  threads: 20,
  quit: 21,
  arrived: 32,
  generation: 48,
  claims: 64,
  poison: 192,
} as const
export const SYNC_WORDS = 208
