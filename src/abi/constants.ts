// Constants. In: nothing. Out: the numbers that TypeScript shares with wasm/core/abi.h, by their C names, and its enums.

/** Anonymous constants of wasm/core/abi.h. */
export const ABI = {
  /** What a module's `abi_version()` must answer. */
  ABI_VERSION: 12,
  /** Bytes of every op record. */
  OP_BYTES: 112,
  /** Positions of a KV block. */
  BLOCK_POSITIONS: 64,
  /** Weights along K that share one scale. Rows of outputs are padded to a multiple of it too. */
  GROUP: 32,
  /** Output rows that a panel interleaves. */
  PANEL: 8,
  /** Stored f16 scales are 2^SCALE_EXPONENT times the file's. */
  SCALE_EXPONENT: 8,
  /** Block tables of one sequence. */
  MAX_STATE_GROUPS: 4,
  MAX_ROPES: 4,
  SLICES: 8,
  CLAIM_WORDS: 128,
  /** Steps of up to this many rows share out the positions of a row. */
  SPLIT_ROWS: 8,
  MAX_SEGMENTS: 16,
  PART_SUMS: 12,
} as const

/** What one row of an op stands for: `enum rows`. */
export const ROWS = { tokens: 0, logits: 1, routed: 2 } as const

/** What a gate goes through: `enum activation`. */
export const ACTIVATION = { silu: 0, gelu: 1, none: 2, gelu_exact: 3 } as const

/** How the two numbers of a rotated pair lie in a head: `enum pairing`. */
export const PAIRING = { halves: 0, interleaved: 1 } as const

/** How keys and values are stored: `enum kv_format`. */
export const KV_FORMAT = { f32: 0, int8: 1, fp8: 2 } as const

/** Positions of a KV block. */
export const { BLOCK_POSITIONS } = ABI
