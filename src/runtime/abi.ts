// ABI. In: nothing. Out: wasm/abi.h as data: each op's fields in order, the word offsets of the step, sequence and sync blocks.
import type { OpName } from '../graph/op-codes.ts'

/** Anonymous constants of wasm/abi.h, by their C names. */
export const ABI = {
  /** What a module's `abi_version()` must answer. */
  ABI_VERSION: 12,
  OP_BYTES: 112,
  BLOCK_POSITIONS: 64,
  GROUP: 32,
  PANEL: 8,
  SCALE_EXPONENT: 8,
  MAX_STATE_GROUPS: 4,
  MAX_ROPES: 4,
  SLICES: 8,
  CLAIM_WORDS: 128,
  SPLIT_ROWS: 8,
  MAX_SEGMENTS: 16,
  PART_SUMS: 12,
} as const

/** Fields that hold an f32; every other field is a u32. */
export const FLOAT_FIELDS: ReadonlySet<string> = new Set(['scale', 'eps', 'cap', 'least', 'most'])

const LINEAR = ['w', 'bias', 'n', 'k', 'x', 'x_stride', 'y', 'y_stride', 'accumulate'] as const
const LINEAR_SWIGLU = ['w', 'bias', 'n', 'k', 'x', 'x_stride', 'q', 'q_stride', 'activation'] as const

/** Names of the words that follow `code` and `rows` in each op's record. */
export const OP_FIELDS: Readonly<Record<OpName, readonly string[]>> = {
  embed: ['table', 'encoding', 'vocab', 'n', 'y', 'y_stride', 'scale', 'first', 'whole', 'by_position'],
  rmsnorm: ['x', 'x_stride', 'weight', 'n', 'y', 'y_stride', 'q', 'q_stride', 'eps', 'parts'],
  quantize: ['x', 'x_stride', 'n', 'q', 'q_stride', 'order', 'whole'],
  linear_f32: LINEAR,
  linear_f16: LINEAR,
  linear_bf16: LINEAR,
  linear_w8a8_g32: LINEAR,
  linear_w4a8_g32: LINEAR,
  linear_w4ma8_g32: LINEAR,
  linear_w4a8_channel: LINEAR,
  rope_kv: [
    ...['q', 'q_stride', 'k', 'k_stride', 'v', 'v_stride', 'heads', 'kv_heads', 'head_dim'],
    ...['rope', 'rope_dims', 'pairing', 'group', 'k_offset', 'v_offset', 'k_format', 'v_format'],
    ...['q_norm', 'k_norm', 'norm_rows', 'eps'],
  ],
  attention: [
    ...['q', 'q_stride', 'y', 'y_stride', 'a8', 'a8_stride', 'heads', 'kv_heads', 'head_dim'],
    ...[
      'group',
      'k_offset',
      'v_offset',
      'k_format',
      'v_format',
      'window',
      'scale',
      'cap',
      'parts',
      'ratio',
      'absent',
    ],
  ],
  swiglu: ['gate', 'gate_stride', 'up', 'up_stride', 'n', 'y', 'y_stride', 'q', 'q_stride', 'activation'],
  add: ['x', 'x_stride', 'y', 'y_stride', 'n', 'scale'],
  linear_swiglu_w8a8_g32: LINEAR_SWIGLU,
  linear_swiglu_w4a8_g32: LINEAR_SWIGLU,
  linear_swiglu_w4ma8_g32: LINEAR_SWIGLU,
  linear_sparse: [...LINEAR, 'encoding'],
  linear_swiglu_sparse: [...LINEAR_SWIGLU, 'encoding'],
  conv1d: [
    ...['x', 'x_stride', 'w', 'bias', 'channels', 'taps', 'group', 'state_offset'],
    ...['y', 'y_stride', 'q', 'q_stride', 'activation'],
  ],
  scan: [
    ...['u', 'u_stride', 'dt', 'dt_stride', 'z', 'z_stride', 'b', 'b_stride', 'c', 'c_stride'],
    ...['decay', 'skip', 'channels', 'states', 'group', 'state_offset', 'y', 'y_stride', 'q', 'q_stride'],
  ],
  ssd: [
    ...['x', 'x_stride', 'dt', 'dt_stride', 'z', 'z_stride', 'b', 'b_stride', 'c', 'c_stride'],
    ...['decay', 'skip', 'dt_bias', 'heads', 'head_dim', 'groups', 'states', 'group', 'state_offset'],
    ...['y', 'y_stride', 'least', 'most'],
  ],
  shift_kv: [
    ...['from_blocks', 'from', 'to_blocks', 'to', 'count', 'angles', 'kv_heads', 'head_dim'],
    ...['rope_dims', 'pairing', 'k_offset', 'v_offset', 'k_format', 'v_format'],
  ],
  layernorm: ['x', 'x_stride', 'weight', 'bias', 'n', 'y', 'y_stride', 'q', 'q_stride', 'eps'],
  rescale: ['y', 'y_stride', 'n', 'scale', 'cap'],
  renorm: ['x', 'x_stride', 'y', 'y_stride', 'n', 'size', 'eps'],
  route: ['x', 'x_stride', 'experts', 'used', 'normalize', 'route'],
  gather: ['x', 'x_stride', 'y', 'y_stride', 'n', 'route', 'experts'],
  linear_experts: [
    ...['w', 'n', 'k', 'x', 'x_stride', 'y', 'y_stride', 'encoding', 'expert_bytes', 'route', 'experts'],
  ],
  combine: ['x', 'x_stride', 'y', 'y_stride', 'n', 'route', 'experts', 'used'],
  check_parts: ['parts', 'count', 'touch'],
}

/** The C struct of each op, without its `op_` prefix. */
export function structName(op: OpName): string {
  return /^linear(_swiglu)?(_sparse|_experts)?/.exec(op)?.[0] ?? op
}

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
} as const
export const STEP_WORDS = STEP.ropes + ABI.MAX_ROPES

/** Word index of each field of `struct sequence`; `tables` has MAX_STATE_GROUPS words. */
export const SEQUENCE = { row0: 0, rows: 1, position: 2, tables: 3 } as const
export const SEQUENCE_WORDS = SEQUENCE.tables + ABI.MAX_STATE_GROUPS

/** Word index of each field of `struct sync`: one 64-byte line per word that several threads write. */
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
