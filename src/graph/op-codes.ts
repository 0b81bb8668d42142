// Op codes. In: nothing. Out: the numbers of `enum op_code` and `enum rows` in wasm/abi.h, by name.

/** `op_code` by lower-case name without its prefix; src/runtime/abi.test.ts holds it against the header. */
export const OP_CODE = {
  embed: 0,
  rmsnorm: 1,
  quantize: 2,
  linear_f32: 3,
  linear_f16: 4,
  linear_bf16: 5,
  linear_w8a8_g32: 6,
  linear_w4a8_g32: 7,
  linear_w4ma8_g32: 8,
  rope_kv: 9,
  attention: 10,
  swiglu: 11,
  add: 12,
  linear_swiglu_w8a8_g32: 13,
  linear_swiglu_w4a8_g32: 14,
  linear_swiglu_w4ma8_g32: 15,
  shift_kv: 16,
  linear_sparse: 17,
  linear_swiglu_sparse: 18,
  conv1d: 19,
  scan: 20,
  ssd: 21,
  layernorm: 22,
  rescale: 23,
  route: 24,
  gather: 25,
  linear_experts: 26,
  combine: 27,
  check_parts: 28,
  renorm: 29,
  linear_w4a8_channel: 30,
} as const

export type OpName = keyof typeof OP_CODE

/** What one row of an op stands for. */
export const ROWS = { tokens: 0, logits: 1, routed: 2 } as const

/** What a gate goes through: `enum activation` of wasm/abi.h. */
export const ACTIVATION = { silu: 0, gelu: 1, none: 2, gelu_exact: 3 } as const

/** How the two numbers of a rotated pair lie in a head. */
export const PAIRING = { halves: 0, interleaved: 1 } as const

/** How keys and values are stored: `enum kv_format` of wasm/abi.h. */
export const KV_FORMAT = { f32: 0, int8: 1, fp8: 2 } as const
