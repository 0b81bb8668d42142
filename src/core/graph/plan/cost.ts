// Counts the bytes that each op of a plan must move in a step, its operations, and the plan's bytes by kind.
import { BLOCK_POSITIONS, ROWS } from '../../abi/constants.ts'
import { isQuantized } from '../../abi/encodings.ts'
import { type Columns, type OpReader, opEntry } from '../../abi/ops.ts'
import { blockBytes } from './layouts.ts'
import type { Plan, PlanOp, PlanPointer } from './plan.ts'

const TOKEN = { tokens: 1, logitRows: 1, position: 0 } as const

interface PlanTotals {
  /** All weight slots in linear memory. */
  readonly weightBytes: number
  /** Peak of the activation arena. */
  readonly arenaBytes: number
  /** One block of 64 positions, per state group. */
  readonly blockBytes: readonly number[]
  /** One sequence's slab. */
  readonly slabBytes: number
  /**
   * Weights read to decode one token: all matrices, but only one row of an embedding table and only the
   * experts that a token uses.
   */
  readonly decodeBytes: number
}

export function planTotals(plan: Plan): PlanTotals {
  return {
    weightBytes: plan.slots.reduce((sum, { bytes }) => sum + bytes, 0),
    arenaBytes: plan.arenaBytes,
    blockBytes: plan.stateGroups.map(blockBytes),
    slabBytes: plan.slabBytes,
    decodeBytes: planCosts(plan, TOKEN).reduce((sum, { weightBytes }) => sum + weightBytes, 0),
  }
}

/** A step of one sequence. */
export interface StepShape {
  /** Rows of the step. */
  readonly tokens: number
  /** Rows whose logits are wanted. */
  readonly logitRows: number
  /** Positions of the sequence before its first row. */
  readonly position: number
}

/**
 * The minimum that any implementation of an op needs. A multiplication and an addition are two operations.
 */
export interface OpCost {
  readonly kind: 'linear' | 'attention' | 'other'
  /**
   * Weights read, each once, however many rows there are. Includes padding rows, because the kernels read
   * them.
   */
  readonly weightBytes: number
  /** State cache read and written. State that several rows attend to counts once. */
  readonly stateBytes: number
  /** Rows read and written. */
  readonly activationBytes: number
  readonly ops: number
  /** The kind of arithmetic. */
  readonly unit: 'integer' | 'float'
}

/** One cost for each op of the plan, from its entry in the table of ops. */
export function planCosts(plan: Plan, shape: StepShape): OpCost[] {
  return plan.ops.map((op) => {
    const { kind = 'other', reads, writes, work, share, state } = opEntry(op.name)
    const read = readerOf(plan, op, shape)
    // The op reads the rows that it adds to before it writes them.
    const written = bytesOf(read, writes) * (read.number('accumulate') === 1 ? 2 : 1)
    return {
      kind,
      weightBytes: Math.round(weightBytes(plan, op) * (share?.(read) ?? 1)),
      stateBytes: state?.(read) ?? 0,
      activationBytes: bytesOf(read, reads) + written,
      ops: work(read),
      unit: kind === 'linear' && read.isQuantized ? 'integer' : 'float',
    }
  })
}

/** Slots of the weights that an op reads. */
export const slotsOf = (op: PlanOp): number[] =>
  Object.values(op.fields).flatMap((value: number | PlanPointer) =>
    typeof value === 'object' && 'slot' in value ? [value.slot] : [],
  )

export const weightBytes = (plan: Plan, op: PlanOp): number =>
  slotsOf(op).reduce((sum, slot) => sum + (plan.slots[slot]?.bytes ?? 0), 0)

/** Rows that an op processes in a step; `code` is its field `rows`. */
export function rowsOf(code: number, { tokens, logitRows }: StepShape): number {
  if (code >= ROWS.routed) return tokens * (code - ROWS.routed)
  return code === ROWS.logits ? logitRows : tokens
}

function readerOf(plan: Plan, { fields }: PlanOp, shape: StepShape): OpReader {
  const number = (field: string): number => {
    const value = fields[field]
    return typeof value === 'number' ? value : 0
  }
  const weight = fields['w']
  const slot = typeof weight === 'object' && 'slot' in weight ? plan.slots[weight.slot] : undefined
  const group = plan.stateGroups[number('group')]
  return {
    rows: rowsOf(number('rows'), shape),
    number,
    has: (field) => typeof fields[field] === 'object',
    isQuantized: slot !== undefined && isQuantized(slot.encoding),
    positionBytes: group === undefined ? 0 : blockBytes(group) / BLOCK_POSITIONS / group.layers.length,
    // Only attention needs this. The sum covers all rows.
    get attended() {
      return attended(shape, number('window'), number('after'))
    },
  }
}

/** Bytes of all rows in the fields of `operands`. Rows that the kernel need not write do not count. */
function bytesOf(read: OpReader, operands: Readonly<Record<string, Columns>>): number {
  return Object.entries(operands).reduce((sum, [field, columns]) => {
    if (columns === undefined || !read.has(field)) return sum
    const isA8 = columns === 'a8' || (columns === 'input' && read.isQuantized)
    if (isA8) return sum + read.rows * read.number(`${field}_stride`)
    const factors = columns === 'input' ? ['k'] : columns
    return sum + factors.reduce((all, factor) => all * read.number(factor), 4 * read.rows)
  }, 0)
}

/**
 * The positions that rows attend to: their sum over all rows, and the number of distinct ones. A `window` of
 * 0 means no limit. `after`: positions after its own that a row attends to.
 */
function attended({ tokens, position }: StepShape, window: number, after: number): OpReader['attended'] {
  const reach = (row: number) =>
    Math.min(position + row + 1, window === 0 ? Number.POSITIVE_INFINITY : window)
  let sum = 0
  for (let row = 0; row < tokens; row++) sum += reach(row) + Math.min(after, tokens - row - 1)
  return { sum, distinct: tokens === 0 ? 0 : Math.min(position + tokens, reach(0) + tokens - 1) }
}
