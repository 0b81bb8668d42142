// Totals. In: a plan. Out: its sums of bytes, and those of one op's weights.
import { ROWS } from './op-codes.ts'
import type { Plan, PlanOp, PlanPointer } from './plan.ts'
import { blockBytes } from './state-layout.ts'

export interface PlanTotals {
  /** All weight slots in linear memory. */
  readonly weightBytes: number
  /** Peak of the activation arena. */
  readonly arenaBytes: number
  /** One block of 64 positions, per state group. */
  readonly blockBytes: readonly number[]
  /** Of one sequence's slab. */
  readonly slabBytes: number
  /** Weights read to decode one token: all matrices, one row of an embedding table that is not tied. */
  readonly decodeBytes: number
}

export function planTotals(plan: Plan): PlanTotals {
  return {
    weightBytes: plan.slots.reduce((sum, { bytes }) => sum + bytes, 0),
    arenaBytes: plan.arenaBytes,
    blockBytes: plan.stateGroups.map(blockBytes),
    slabBytes: plan.slabBytes,
    decodeBytes: plan.ops.reduce((sum, op) => sum + decodeBytes(plan, op), 0),
  }
}

/** Slots of the weights that an op reads. */
export const slotsOf = (op: PlanOp): number[] =>
  Object.values(op.fields).flatMap((value: number | PlanPointer) =>
    typeof value === 'object' && 'slot' in value ? [value.slot] : [],
  )

export const weightBytes = (plan: Plan, op: PlanOp): number =>
  slotsOf(op).reduce((sum, slot) => sum + (plan.slots[slot]?.bytes ?? 0), 0)

function decodeBytes(plan: Plan, op: PlanOp): number {
  if (op.name === 'linear_experts') return routedBytes(op, weightBytes(plan, op))
  if (op.name !== 'embed') return weightBytes(plan, op)
  const slot = plan.slots[slotsOf(op)[0] ?? -1]
  return slot === undefined ? 0 : Math.round(slot.bytes / slot.n)
}

/** One row reads the weights of its own experts only. */
function routedBytes({ fields }: PlanOp, bytes: number): number {
  const used = Number(fields['rows']) - ROWS.routed
  return (bytes / Number(fields['experts'])) * used
}
