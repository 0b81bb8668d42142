// Ops. One entry per op of wasm/core/abi.h: its code, fields, reads, writes and work.
//
// Lowering, the record writer, the printer, the cost model, the gauge and the roofline all read this table.
// Ops are named here, so code that uses an op without an entry does not compile.
import { ABI } from './constants.ts'

/**
 * The version of all records: the value that a module's `abi_version()` must return. Increase it with every
 * change to wasm/core/abi.h. The kernels' build reads this line.
 */
export const ABI_VERSION = 24

/** A record, as the cost functions below see it. */
export interface OpReader {
  /** Number of rows that the op processes in this step. */
  readonly rows: number
  /** The number in a field; 0 if the field is absent. */
  number(field: string): number
  /** True if the weight in the field `w` is quantised; the input rows are then int8. */
  readonly isQuantized: boolean
  /** True if the field holds an address. */
  has(field: string): boolean
  /** Bytes of the keys and values of one position in the op's layer. */
  readonly positionBytes: number
  /**
   * `sum`: attended positions, summed over the step's rows. `distinct`: positions that at least one row
   * attends to.
   */
  readonly attended: { readonly sum: number; readonly distinct: number }
}

/**
 * The width of a row. A list of fields: f32 rows, as wide as the product of these fields. `a8`: int8 rows,
 * which fill their stride. `input`: f32 or int8, depending on the weight's encoding. Undefined: the data is
 * not counted as rows.
 */
export type Columns = 'a8' | 'input' | readonly string[] | undefined

export interface OpEntry {
  /** `enum op_code`. */
  readonly code: number
  /** Name of the C struct without its `op_` prefix. Default: the op's name. */
  readonly struct?: string
  /** Names of the words that follow `code` and `rows`, in order. */
  readonly fields: readonly string[]
  /**
   * Fields that point to the data that the op reads and writes. Data that is changed in place appears in
   * both.
   */
  readonly reads: Readonly<Record<string, Columns>>
  readonly writes: Readonly<Record<string, Columns>>
  /** What limits the op's speed. Default `other`. */
  readonly kind?: 'linear' | 'attention'
  /** Arithmetic operations. A multiplication and an addition count as two. */
  readonly work: (read: OpReader) => number
  /** The fraction of the op's weights that a step reads. Default 1. */
  readonly share?: (read: OpReader) => number
  /**
   * Bytes of the state cache that the step reads and writes. A position that several rows attend to counts
   * once. Default 0.
   */
  readonly state?: (read: OpReader) => number
}

/** Fields that hold an f32; every other field is a u32. */
export const FLOAT_FIELDS: ReadonlySet<string> = new Set([
  ...['scale', 'eps', 'cap', 'least', 'most'],
  ...['above', 'below', 'slope', 'offset'],
])

/**
 * Operations per element of a norm (square, add, two multiplications) and of a gate (an exponential), and per
 * rotated pair.
 */
const NORM_WORK = 4
const GATE_WORK = 6
const ROTATE_WORK = 6
/**
 * SiLU is a gate without the product. A scan takes, per state and row, 18 operations for the exponential and
 * its argument, 3 to update the state and 2 for the output; SSD takes only the last 5. A step size takes an
 * exponential and a logarithm per channel.
 */
const SILU_WORK = 5
const SCAN_WORK = 23
const SSD_WORK = 5
const SOFTPLUS_WORK = 32
/** Per element of the state: product with the key, decay and update, product with the query. */
const DELTA_WORK = 7
/** Four exponentials and the sums between them. */
const WKV_WORK = 64

const perElement =
  (work: number, ...fields: readonly string[]) =>
  (read: OpReader): number =>
    fields.reduce((all, field) => all * read.number(field), work * read.rows)

const LINEAR_ROWS = {
  kind: 'linear',
  reads: { x: 'input' },
  writes: { y: ['n'] },
  work: perElement(2, 'n', 'k'),
} as const
const LINEAR_FIELDS = ['w', 'bias', 'n', 'k', 'x', 'x_stride', 'y', 'y_stride', 'accumulate'] as const
const linear = (code: number) => ({ code, struct: 'linear', fields: LINEAR_FIELDS, ...LINEAR_ROWS }) as const

/**
 * The products of gate and up. The activation itself is one operation per several hundred of these, so it is
 * ignored.
 */
const GATED_ROWS = {
  kind: 'linear',
  reads: { x: 'a8' },
  writes: { q: 'a8' },
  work: perElement(4, 'n', 'k'),
} as const
const GATED_FIELDS = ['w', 'bias', 'n', 'k', 'x', 'x_stride', 'q', 'q_stride', 'activation'] as const
const gated = (code: number) =>
  ({ code, struct: 'linear_swiglu', fields: GATED_FIELDS, ...GATED_ROWS }) as const

const NORM_ROWS = {
  reads: { x: ['n'] },
  writes: { y: ['n'], q: 'a8' },
  work: perElement(NORM_WORK, 'n'),
} as const
/** Ops that sort rows by expert, or move them back. */
const MOVED_ROWS = {
  reads: { x: ['n'], route: undefined },
  writes: { y: ['n'] },
  work: perElement(1, 'n'),
} as const
/** Ops that never run in a step. */
const OUTSIDE_STEPS = { reads: {}, writes: {}, work: () => 0 } as const
const HEADS = ['heads', 'head_dim'] as const
const KV_HEADS = ['kv_heads', 'head_dim'] as const

/** Every op: the layout of its record, and the work and memory traffic that any implementation needs. */
export const OPS = {
  embed: {
    code: 0,
    fields: ['table', 'encoding', 'vocab', 'n', 'y', 'y_stride', 'scale', 'first', 'whole', 'by'],
    reads: {},
    writes: { y: ['n'] },
    work: perElement(1, 'n'),
    share: (read) => read.rows / (Math.ceil(Math.max(1, read.number('vocab')) / ABI.GROUP) * ABI.GROUP),
  },
  rmsnorm: {
    code: 1,
    fields: ['x', 'x_stride', 'weight', 'n', 'y', 'y_stride', 'q', 'q_stride', 'eps', 'parts'],
    ...NORM_ROWS,
  },
  quantize: {
    code: 2,
    fields: ['x', 'x_stride', 'n', 'q', 'q_stride', 'order', 'whole'],
    reads: { x: ['n'] },
    writes: { q: 'a8' },
    work: perElement(2, 'n'),
  },
  linear_f32: linear(3),
  linear_f16: linear(4),
  linear_bf16: linear(5),
  linear_w8a8_g32: linear(6),
  linear_w4a8_g32: linear(7),
  linear_w4ma8_g32: linear(8),
  rope_kv: {
    code: 9,
    fields: [
      ...(['q', 'q_stride', 'k', 'k_stride', 'v', 'v_stride', 'heads', 'kv_heads', 'head_dim'] as const),
      ...(['rope', 'rope_dims', 'pairing', 'group', 'k_offset', 'v_offset', 'k_format', 'v_format'] as const),
      ...(['q_norm', 'k_norm', 'norm_kind', 'eps', 'k_bias', 'still', 'least', 'most'] as const),
      ...(['rope_q', 'q_norm_bias', 'k_norm_bias'] as const),
    ],
    reads: { q: HEADS, k: KV_HEADS, v: KV_HEADS },
    writes: { q: HEADS },
    work: (read) =>
      ((read.number('heads') + read.number('kv_heads')) *
        read.number('rope_dims') *
        ROTATE_WORK *
        read.rows) /
      2,
    state: (read) => read.rows * read.positionBytes,
  },
  attention: {
    code: 10,
    kind: 'attention',
    fields: [
      ...(['q', 'q_stride', 'y', 'y_stride', 'a8', 'a8_stride', 'heads', 'kv_heads', 'head_dim'] as const),
      ...(['group', 'k_offset', 'v_offset', 'k_format', 'v_format', 'window', 'scale', 'cap'] as const),
      ...(['parts', 'ratio', 'absent', 'least', 'most', 'after', 'bias', 'reach', 'sinks'] as const),
    ],
    reads: { q: HEADS },
    writes: { y: HEADS, a8: 'a8', parts: undefined },
    work: (read) => 4 * read.number('heads') * read.number('head_dim') * read.attended.sum,
    state: (read) => read.attended.distinct * read.positionBytes,
  },
  swiglu: {
    code: 11,
    fields: [
      'gate',
      'gate_stride',
      'up',
      'up_stride',
      'n',
      'y',
      'y_stride',
      'q',
      'q_stride',
      'activation',
      'above',
      'below',
      'slope',
      'eps',
    ],
    reads: { gate: ['n'], up: ['n'] },
    writes: { y: ['n'], q: 'a8' },
    work: perElement(GATE_WORK, 'n'),
  },
  add: {
    code: 12,
    fields: ['x', 'x_stride', 'y', 'y_stride', 'n', 'scale'],
    reads: { x: ['n'], y: ['n'] },
    writes: { y: ['n'] },
    work: perElement(1, 'n'),
  },
  linear_swiglu_w8a8_g32: gated(13),
  linear_swiglu_w4a8_g32: gated(14),
  linear_swiglu_w4ma8_g32: gated(15),
  shift_kv: {
    code: 16,
    fields: [
      ...(['from_blocks', 'from', 'to_blocks', 'to', 'count', 'angles', 'kv_heads', 'head_dim'] as const),
      ...([
        'rope_dims',
        'pairing',
        'k_offset',
        'v_offset',
        'k_format',
        'v_format',
        'k_bias',
        'still',
      ] as const),
    ],
    ...OUTSIDE_STEPS,
  },
  linear_sparse: { code: 17, fields: [...LINEAR_FIELDS, 'encoding'], ...LINEAR_ROWS },
  linear_swiglu_sparse: { code: 18, fields: [...GATED_FIELDS, 'encoding'], ...GATED_ROWS },
  conv1d: {
    code: 19,
    fields: [
      ...(['x', 'x_stride', 'w', 'bias', 'channels', 'taps', 'group', 'state_offset'] as const),
      ...(['y', 'y_stride', 'q', 'q_stride', 'activation'] as const),
    ],
    reads: { x: ['channels'] },
    writes: { y: ['channels'], q: 'a8' },
    work: (read) => (2 * read.number('taps') + SILU_WORK) * read.number('channels') * read.rows,
    state: (read) => 2 * read.number('channels') * (read.number('taps') - 1) * 4,
  },
  scan: {
    code: 20,
    fields: [
      ...(['u', 'u_stride', 'dt', 'dt_stride', 'z', 'z_stride', 'b', 'b_stride', 'c', 'c_stride'] as const),
      ...(['decay', 'skip', 'channels', 'states', 'group', 'state_offset'] as const),
      ...(['y', 'y_stride', 'q', 'q_stride'] as const),
    ],
    reads: { u: ['channels'], dt: ['channels'], z: ['channels'], b: ['states'], c: ['states'] },
    writes: { y: ['channels'], q: 'a8' },
    work: (read) =>
      (SCAN_WORK * read.number('states') + SILU_WORK + SOFTPLUS_WORK) * read.number('channels') * read.rows,
    state: (read) => 2 * read.number('channels') * read.number('states') * 4,
  },
  ssd: {
    code: 21,
    fields: [
      ...(['x', 'x_stride', 'dt', 'dt_stride', 'z', 'z_stride', 'b', 'b_stride', 'c', 'c_stride'] as const),
      ...(['decay', 'skip', 'dt_bias', 'heads', 'head_dim', 'groups', 'states'] as const),
      ...(['group', 'state_offset', 'y', 'y_stride', 'least', 'most'] as const),
    ],
    reads: { x: HEADS, dt: ['heads'], z: HEADS, b: ['groups', 'states'], c: ['groups', 'states'] },
    writes: { y: HEADS },
    work: (read) =>
      (SSD_WORK * read.number('states') + SILU_WORK) *
      read.number('heads') *
      read.number('head_dim') *
      read.rows,
    state: (read) => 2 * read.number('heads') * read.number('head_dim') * read.number('states') * 4,
  },
  layernorm: {
    code: 22,
    fields: ['x', 'x_stride', 'weight', 'bias', 'n', 'y', 'y_stride', 'q', 'q_stride', 'eps'],
    ...NORM_ROWS,
  },
  rescale: {
    code: 23,
    fields: ['y', 'y_stride', 'n', 'scale', 'cap'],
    reads: { y: ['n'] },
    writes: { y: ['n'] },
    work: perElement(1, 'n'),
  },
  route: {
    code: 24,
    fields: [
      ...(['x', 'x_stride', 'experts', 'used', 'normalize', 'route', 'bias', 'scoring'] as const),
      ...(['groups', 'groups_used', 'group_best', 'scale', 'eps'] as const),
    ],
    reads: { x: ['experts'] },
    writes: { route: undefined },
    work: (read) => (2 + read.number('used')) * read.number('experts') * read.rows,
  },
  gather: {
    code: 25,
    fields: ['x', 'x_stride', 'y', 'y_stride', 'n', 'route', 'experts'],
    ...MOVED_ROWS,
  },
  linear_experts: {
    code: 26,
    fields: ['w', 'n', 'k', 'x', 'x_stride', 'y', 'y_stride', 'encoding', 'expert_bytes', 'route', 'experts'],
    ...LINEAR_ROWS,
    share: (read) => Math.min(1, read.rows / read.number('experts')),
  },
  combine: {
    code: 27,
    fields: ['x', 'x_stride', 'y', 'y_stride', 'n', 'route', 'experts', 'used'],
    ...MOVED_ROWS,
  },
  check_parts: { code: 28, fields: ['parts', 'count', 'touch'], ...OUTSIDE_STEPS },
  renorm: {
    code: 29,
    fields: ['x', 'x_stride', 'y', 'y_stride', 'n', 'size', 'eps'],
    reads: { x: ['size'], y: ['n'] },
    writes: { y: ['n'] },
    work: (read) => ((read.has('x') ? 2 * read.number('size') : 0) + read.number('n')) * read.rows,
  },
  linear_w4a8_channel: linear(30),
  clamp: {
    code: 31,
    fields: ['x', 'x_stride', 'y', 'y_stride', 'n', 'least', 'most'],
    reads: { x: ['n'] },
    writes: { y: ['n'] },
    work: perElement(2, 'n'),
  },
  gate_rows: {
    code: 32,
    fields: ['x', 'x_stride', 'y', 'y_stride', 'n', 'width'],
    reads: { x: [], y: ['n'] },
    writes: { y: ['n'] },
    work: perElement(1, 'n'),
  },
  join_heads: {
    code: 33,
    fields: [
      ...(['s', 's_stride', 'shared', 'x', 'x_stride', 'x_dim', 'own'] as const),
      ...(['y', 'y_stride', 'y_dim', 'heads'] as const),
    ],
    reads: { s: ['shared'], x: ['heads', 'own'] },
    writes: { y: ['heads', 'y_dim'] },
    work: perElement(1, 'heads', 'y_dim'),
  },
  bias_experts: {
    code: 34,
    fields: ['y', 'y_stride', 'n', 'bias', 'route', 'experts'],
    reads: { y: ['n'], route: undefined },
    writes: { y: ['n'] },
    work: perElement(1, 'n'),
  },
  delta: {
    code: 35,
    fields: [
      ...(['x', 'x_stride', 'dt', 'dt_stride', 'beta', 'beta_stride', 'z', 'z_stride'] as const),
      ...(['decay', 'dt_bias', 'weight', 'heads', 'key_heads', 'ratio', 'key_dim', 'head_dim'] as const),
      ...(['channels', 'gate', 'group', 'state_offset', 'y', 'y_stride', 'scale', 'eps'] as const),
    ],
    reads: { x: HEADS, dt: ['heads'], beta: ['heads'], z: HEADS },
    writes: { y: HEADS },
    work: (read) =>
      (DELTA_WORK * read.number('key_dim') + NORM_WORK + SILU_WORK) *
      read.number('heads') *
      read.number('head_dim') *
      read.rows,
    state: (read) => 2 * read.number('heads') * read.number('head_dim') * read.number('key_dim') * 4,
  },
  lru: {
    code: 36,
    fields: [
      ...(['x', 'x_stride', 'enter_weight', 'enter_bias', 'stay_weight', 'stay_bias', 'param'] as const),
      ...(['channels', 'blocks', 'group', 'state_offset', 'y', 'y_stride'] as const),
    ],
    reads: { x: ['channels'] },
    writes: { y: ['channels'] },
    work: (read) =>
      ((4 * read.number('channels')) / read.number('blocks') + 2 * SILU_WORK + SOFTPLUS_WORK) *
      read.number('channels') *
      read.rows,
    state: (read) => 2 * read.number('channels') * 4,
  },
  wkv: {
    code: 37,
    fields: [
      ...(['k', 'k_stride', 'v', 'v_stride', 'decay', 'first', 'channels'] as const),
      ...(['group', 'state_offset', 'y', 'y_stride'] as const),
    ],
    reads: { k: ['channels'], v: ['channels'] },
    writes: { y: ['channels'] },
    work: perElement(WKV_WORK, 'channels'),
    state: (read) => 6 * read.number('channels') * 4,
  },
  linear_w2a8_g256: linear(38),
  mix_streams: {
    code: 39,
    fields: [
      ...(['x', 'x_stride', 'z', 'z_stride', 'c', 'c_stride', 'y', 'y_stride'] as const),
      ...(['n', 'apart', 'streams', 'inputs', 'first', 'offset'] as const),
    ],
    reads: { x: ['streams', 'n'], z: ['inputs', 'n'], c: ['streams', 'inputs'] },
    writes: { y: ['streams', 'n'] },
    work: perElement(2, 'streams', 'inputs', 'n'),
  },
  match_rms: {
    code: 40,
    fields: ['x', 'x_stride', 'by', 'by_stride', 'y', 'y_stride', 'n', 'least'],
    reads: { x: ['n'], by: ['n'] },
    writes: { y: ['n'] },
    work: perElement(NORM_WORK, 'n'),
  },
  cut_low: {
    code: 41,
    fields: ['x', 'x_stride', 'y', 'y_stride', 'n', 'scale'],
    reads: { x: ['n'] },
    writes: { y: ['n'] },
    work: perElement(NORM_WORK, 'n'),
  },
  weigh: {
    code: 42,
    fields: ['x', 'x_stride', 'weight', 'y', 'y_stride', 'n'],
    reads: { x: ['n'] },
    writes: { y: ['n'] },
    work: perElement(1, 'n'),
  },
  repack: {
    code: 43,
    fields: ['from', 'to', 'k', 'panels', 'stored', 'encoding', 'faults'],
    ...OUTSIDE_STEPS,
  },
} as const satisfies Readonly<Record<string, OpEntry>>

export type OpName = keyof typeof OPS

/** A value for each field of the op's record, by C name. */
export type OpFields<N extends OpName, Word> = Readonly<Record<(typeof OPS)[N]['fields'][number], Word>>

/** The entry of an op, without the literal types of its fields. */
export const opEntry = (name: OpName): OpEntry => OPS[name]
