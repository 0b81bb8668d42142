// Plan writer. In: a plan, the addresses of its weights. Out: op records in linear memory, ready to run.

import { ABI } from '../abi/constants.ts'
import { FLOAT_FIELDS, opEntry } from '../abi/ops.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Plan, PlanOp, PlanPointer } from '../graph/plan/plan.ts'
import { checkPlan } from './check-plan.ts'
import type { Arena, Ptr } from './memory/arena.ts'

/** A plan in linear memory. */
export interface WrittenPlan {
  /** First op record. */
  readonly records: Ptr
  readonly count: number
  /** First activation. */
  readonly activations: Ptr
}

/**
 * Allocates the activations and the records. `slots[i]` is the address of `plan.slots[i]`. Throws what
 * `checkPlan` throws.
 */
export function writePlan(arena: Arena, plan: Plan, slots: readonly Ptr[]): WrittenPlan {
  if (slots.length !== plan.slots.length) {
    throw new HalfbyteError(
      'internal',
      `the plan has ${plan.slots.length} weights but ${slots.length} are loaded`,
    )
  }
  checkPlan(plan)
  const activations = arena.allocate(plan.arenaBytes, 'the activations')
  const records = arena.allocate(plan.ops.length * ABI.OP_BYTES, 'the plan')
  const resolve = (pointer: PlanPointer): number => {
    if ('arena' in pointer) return activations + pointer.arena
    return slots[pointer.slot] as Ptr
  }
  for (const [index, op] of plan.ops.entries())
    writeRecord(arena, records + index * ABI.OP_BYTES, op, resolve)
  return { records, count: plan.ops.length, activations }
}

/** Writes one record. `resolve` gives the address of each pointer. */
export function writeRecord(
  arena: Arena,
  address: number,
  op: PlanOp,
  resolve: (pointer: PlanPointer) => number,
): void {
  const { code, fields } = opEntry(op.name)
  const names = ['rows', ...fields]
  const unknown = Object.keys(op.fields).find((field) => !names.includes(field))
  if (unknown !== undefined)
    throw new HalfbyteError('internal', `op ${op.label} has the unknown field ${unknown}`)
  const { u32, f32 } = arena
  const word = address / 4
  u32.fill(0, word, word + ABI.OP_BYTES / 4)
  u32[word] = code
  for (const [index, field] of names.entries()) {
    const value = op.fields[field]
    if (value === undefined) throw new HalfbyteError('internal', `op ${op.label} lacks the field ${field}`)
    if (typeof value !== 'number') u32[word + 1 + index] = resolve(value)
    else if (FLOAT_FIELDS.has(field)) f32[word + 1 + index] = value
    else u32[word + 1 + index] = value
  }
}
