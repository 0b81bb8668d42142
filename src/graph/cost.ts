// Cost. In: a plan and the shape of a step. Out: the bytes that each op must move and the operations that it must do.
import { isQuantized } from '../weights/encoding.ts'
import type { OpName } from './op-codes.ts'
import { ROWS } from './op-codes.ts'
import type { Plan, PlanOp, WeightSlot } from './plan.ts'
import { BLOCK_POSITIONS, blockBytes } from './state-layout.ts'

/** A step of one sequence. */
export interface StepShape {
  /** Rows of the step. */
  readonly tokens: number
  /** Rows whose logits are wanted. */
  readonly logitRows: number
  /** Positions of the sequence before its first row. */
  readonly position: number
}

/** What no implementation of an op can do without. A multiplication and an addition are two operations. */
export interface OpCost {
  readonly kind: 'linear' | 'attention' | 'other'
  /** Weights read, each once however many rows there are; padding rows included, as the kernels read them. */
  readonly weightBytes: number
  /** State cache read and written; what several rows attend to counts once. */
  readonly stateBytes: number
  /** Rows read and written. */
  readonly activationBytes: number
  readonly ops: number
  /** The arithmetic that the operations are of. */
  readonly unit: 'integer' | 'float'
}

/** One cost per op of the plan. */
export function planCosts(plan: Plan, shape: StepShape): OpCost[] {
  return plan.ops.map((op) => {
    const rows = rowsOf(Number(op.fields['rows']), shape)
    const cost = COSTS[op.name as OpName](new Reader(plan, op, rows, shape))
    return { kind: 'other', weightBytes: 0, stateBytes: 0, unit: 'float', ...cost }
  })
}

function rowsOf(code: number, { tokens, logitRows }: StepShape): number {
  if (code >= ROWS.routed) return tokens * (code - ROWS.routed)
  return code === ROWS.logits ? logitRows : tokens
}

type Cost = Pick<OpCost, 'activationBytes' | 'ops'> & Partial<OpCost>

/** An op's fields in the words of this file. */
class Reader {
  readonly plan: Plan
  readonly op: PlanOp
  readonly rows: number
  readonly shape: StepShape

  constructor(plan: Plan, op: PlanOp, rows: number, shape: StepShape) {
    this.plan = plan
    this.op = op
    this.rows = rows
    this.shape = shape
  }

  /** A field that holds a number. */
  number(name: string): number {
    const value = this.op.fields[name]
    return typeof value === 'number' ? value : 0
  }

  /** True when the field holds an address. */
  has(name: string): boolean {
    return typeof this.op.fields[name] === 'object'
  }

  slot(name: string): WeightSlot | undefined {
    const value = this.op.fields[name]
    return typeof value === 'object' && 'slot' in value ? this.plan.slots[value.slot] : undefined
  }

  /** Bytes of `n` columns of the rows at `name`, 0 when the kernel need not make them. */
  floats(name: string, n: number): number {
    return this.has(name) ? this.rows * n * 4 : 0
  }

  /** Bytes of the int8 rows at `name`: codes, scales and sums, which fill the stride. */
  bytes(name: string): number {
    return this.has(name) ? this.rows * this.number(`${name}_stride`) : 0
  }

  /** Bytes of the keys and values of one position in this op's layer. */
  positionBytes(): number {
    const group = this.plan.stateGroups[this.number('group')]
    return group === undefined ? 0 : blockBytes(group) / BLOCK_POSITIONS / group.layers.length
  }
}

/** 4 operations per element of a norm: square, add, two products; 6 of a rotated pair; 6 of a gate with its exponential. */
const NORM_OPS = 4
const ROTATE_OPS = 6
const GATE_OPS = 6
/**
 * A gate without its product, as above. Of one state and row: in a scan 18 for the exponential and its argument, 3 to go on
 * and 2 to leave; in SSD those 5 alone. Once per channel, a step size: an exponential and a logarithm.
 */
const SILU_OPS = 5
const SCAN_OPS = 23
const SSD_OPS = 5
const SOFTPLUS_OPS = 32

function linear(read: Reader): Cost {
  const [n, k] = [read.number('n'), read.number('k')]
  const slot = read.slot('w')
  const integer = slot !== undefined && isQuantized(slot.encoding)
  const input = integer ? read.bytes('x') : read.floats('x', k)
  const output = read.floats('y', n) * (read.number('accumulate') === 1 ? 2 : 1)
  return {
    kind: 'linear',
    weightBytes: (slot?.bytes ?? 0) + (read.slot('bias')?.bytes ?? 0),
    activationBytes: input + output,
    ops: 2 * n * k * read.rows,
    unit: integer ? 'integer' : 'float',
  }
}

/** The product of both sides; its gate is a float operation for hundreds of these and is left out. */
function linearSwiglu(read: Reader): Cost {
  const [n, k] = [read.number('n'), read.number('k')]
  return {
    kind: 'linear',
    weightBytes: (read.slot('w')?.bytes ?? 0) + (read.slot('bias')?.bytes ?? 0),
    activationBytes: read.bytes('x') + read.bytes('q'),
    ops: 2 * (2 * n) * k * read.rows,
    unit: 'integer',
  }
}

/** Positions that each row attends to, summed, and all those that any row does. */
function attended({ tokens, position }: StepShape, window: number): { sum: number; distinct: number } {
  const reach = (row: number) =>
    Math.min(position + row + 1, window === 0 ? Number.POSITIVE_INFINITY : window)
  let sum = 0
  for (let row = 0; row < tokens; row++) sum += reach(row)
  return { sum, distinct: tokens === 0 ? 0 : Math.min(position + tokens, reach(0) + tokens - 1) }
}

function norm(read: Reader): Cost {
  const n = read.number('n')
  return {
    weightBytes: (read.slot('weight')?.bytes ?? 0) + (read.slot('bias')?.bytes ?? 0),
    activationBytes: read.floats('x', n) + read.floats('y', n) + read.bytes('q'),
    ops: NORM_OPS * n * read.rows,
  }
}

/** Rows moved to or from the places of their experts. */
function move(read: Reader): Cost {
  const n = read.number('n')
  return { activationBytes: read.floats('x', n) + read.floats('y', n), ops: n * read.rows }
}

const outsideSteps = () => ({ activationBytes: 0, ops: 0 })

const COSTS: Readonly<Record<OpName, (read: Reader) => Cost>> = {
  embed(read) {
    const table = read.slot('table')
    const rowBytes = table === undefined ? 0 : table.bytes / table.n
    const n = read.number('n')
    return {
      weightBytes: Math.round(rowBytes) * read.rows,
      activationBytes: read.floats('y', n),
      ops: n * read.rows,
    }
  },
  rmsnorm: norm,
  layernorm: norm,
  quantize(read) {
    const n = read.number('n')
    return { activationBytes: read.floats('x', n) + read.bytes('q'), ops: 2 * n * read.rows }
  },
  linear_f32: linear,
  linear_f16: linear,
  linear_bf16: linear,
  linear_w8a8_g32: linear,
  linear_w4a8_g32: linear,
  linear_w4ma8_g32: linear,
  linear_w4a8_channel: linear,
  linear_swiglu_w8a8_g32: linearSwiglu,
  linear_swiglu_w4a8_g32: linearSwiglu,
  linear_swiglu_w4ma8_g32: linearSwiglu,
  linear_sparse: linear,
  linear_swiglu_sparse: linearSwiglu,
  rope_kv(read) {
    const heads = read.number('heads') + read.number('kv_heads')
    const rotated = (heads * read.number('rope_dims')) / 2
    const q = read.floats('q', read.number('heads') * read.number('head_dim'))
    const kv = read.floats('k', 2 * read.number('kv_heads') * read.number('head_dim'))
    return {
      stateBytes: read.rows * read.positionBytes(),
      activationBytes: 2 * q + kv,
      ops: ROTATE_OPS * rotated * read.rows,
    }
  },
  attention(read) {
    const width = read.number('heads') * read.number('head_dim')
    const { sum, distinct } = attended(read.shape, read.number('window'))
    return {
      kind: 'attention',
      stateBytes: distinct * read.positionBytes(),
      activationBytes: read.floats('q', width) + read.floats('y', width) + read.bytes('a8'),
      ops: 4 * width * sum,
    }
  },
  rescale(read) {
    const n = read.number('n')
    return { activationBytes: 2 * read.floats('y', n), ops: n * read.rows }
  },
  renorm(read) {
    const [n, size] = [read.number('n'), read.number('size')]
    return {
      activationBytes: read.floats('x', size) + 2 * read.floats('y', n),
      ops: (2 * (read.has('x') ? size : 0) + n) * read.rows,
    }
  },
  route(read) {
    const experts = read.number('experts')
    return {
      activationBytes: read.floats('x', experts),
      ops: (2 + read.number('used')) * experts * read.rows,
    }
  },
  gather: move,
  combine: move,
  /** As many experts' weights as rows can at most be routed to. */
  linear_experts(read) {
    const cost = linear(read)
    const touched = Math.min(1, read.rows / read.number('experts'))
    return { ...cost, weightBytes: Math.round((cost.weightBytes ?? 0) * touched) }
  },
  shift_kv: outsideSteps,
  check_parts: outsideSteps,
  conv1d(read) {
    const [n, taps] = [read.number('channels'), read.number('taps')]
    return {
      weightBytes: (read.slot('w')?.bytes ?? 0) + (read.slot('bias')?.bytes ?? 0),
      stateBytes: 2 * n * (taps - 1) * 4,
      activationBytes: read.floats('x', n) + read.floats('y', n) + read.bytes('q'),
      ops: (2 * taps + SILU_OPS) * n * read.rows,
    }
  },
  scan(read) {
    const [n, states] = [read.number('channels'), read.number('states')]
    const inputs = read.floats('u', n) + read.floats('dt', n) + read.floats('z', n)
    const between = read.floats('b', states) + read.floats('c', states)
    return {
      weightBytes: (read.slot('decay')?.bytes ?? 0) + (read.slot('skip')?.bytes ?? 0),
      stateBytes: 2 * n * states * 4,
      activationBytes: inputs + between + read.floats('y', n) + read.bytes('q'),
      ops: (SCAN_OPS * states + SILU_OPS + SOFTPLUS_OPS) * n * read.rows,
    }
  },
  ssd(read) {
    const [heads, states] = [read.number('heads'), read.number('states')]
    const n = heads * read.number('head_dim')
    const inputs = read.floats('x', n) + read.floats('z', n) + read.floats('dt', heads)
    const between = read.floats('b', 2 * read.number('groups') * states)
    return {
      weightBytes: 3 * heads * 4,
      stateBytes: 2 * n * states * 4,
      activationBytes: inputs + between + read.floats('y', n),
      ops: (SSD_OPS * states + SILU_OPS) * n * read.rows,
    }
  },
  swiglu(read) {
    const n = read.number('n')
    const inputs = read.floats('gate', n) + read.floats('up', n)
    return {
      activationBytes: inputs + read.floats('y', n) + read.bytes('q'),
      ops: GATE_OPS * n * read.rows,
    }
  },
  add(read) {
    const n = read.number('n')
    return { activationBytes: read.floats('x', n) + 2 * read.floats('y', n), ops: n * read.rows }
  },
}
