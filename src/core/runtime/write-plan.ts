// Writes a plan as op records into linear memory, and checks every record before it may run.

import { ABI, ROWS } from '../abi/constants.ts'
import { isSparse, matrixBytes, ROW_PADDING, roundUp } from '../abi/encodings.ts'
import { FLOAT_FIELDS, opEntry } from '../abi/ops.ts'
import { HalfbyteError } from '../base/errors.ts'
import { biasColumns } from '../graph/ir.ts'
import type { Plan, PlanOp, PlanPointer } from '../graph/plan/plan.ts'
import type { Arena, Ptr } from './memory/arena.ts'

/**
 * Throws `internal` for a number that does not fit into a word, for rows that begin outside the arena, and
 * for a weight smaller than its kernel reads. Sparse matrices are checked when they are loaded; the sizes of
 * recurrent weights are not checked.
 */
function checkPlan({ ops, slots, tokens, logitRows, arenaBytes }: Plan): void {
  for (const { fields, name, label } of ops) {
    const { n, k, vocab, rows, experts, expert_bytes, heads, reach } = fields as Readonly<
      Record<string, number>
    >
    const outputs = roundUp(n ?? 0, ROW_PADDING) * (name.includes('swiglu') ? 2 : 1)
    const kind = rows ?? 0
    const most = kind === ROWS.logits ? logitRows : tokens * Math.max(1, kind - ROWS.routed)
    for (const [field, value] of Object.entries(fields)) {
      // A number that does not fit into a word stays NaN, which fails the check.
      let end = Number.NaN
      let bytes = 2 ** 32
      if (typeof value === 'number') {
        if (FLOAT_FIELDS.has(field) || value === value >>> 0) continue
      } else if ('arena' in value) {
        // An input may have one row per token although the output has one per expert or per row of logits.
        const last = (field === 'x' ? Math.min(most, tokens) : most) - 1
        end = value.arena + last * ((fields[`${field}_stride`] as number) ?? 0) + 4
        bytes = arenaBytes
      } else {
        const { encoding = 'f32', bytes: found = 0 } = slots[value.slot] ?? {}
        bytes = found
        end = 4 * outputs
        if (bytes === 0 || isSparse(encoding)) end = 1
        else if (field === 'bias' && reach !== undefined) end = 4 * heads! * biasColumns(reach)
        else if (field === 'table') end = matrixBytes(encoding, vocab!, n!)
        else if (field === 'w') end = expert_bytes! * experts! || matrixBytes(encoding, outputs, k ?? 0)
      }
      if (!(end <= bytes))
        throw new HalfbyteError('internal', `${field} of op ${label} ends at ${end} of ${bytes}`)
    }
  }
}

/** A plan in linear memory. */
export interface WrittenPlan {
  /** First op record. */
  readonly records: Ptr
  readonly count: number
  /** First activation. */
  readonly activations: Ptr
}

/**
 * Allocates the activations and the records. `slots[i]` is the address of `plan.slots[i]`. Throws the same
 * errors as `checkPlan`.
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

/** Writes one record. `resolve` returns the address of each pointer. */
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
