// Plan check. In: a plan. Out: nothing, or an error where a record would reach past the arena or past a weight.
import { HalfbyteError } from '../base/errors.ts'
import { ROWS } from '../graph/op-codes.ts'
import type { Plan, PlanOp } from '../graph/plan.ts'
import { isSparse, matrixBytes, ROW_PADDING, roundUp } from '../weights/encoding.ts'
import { FLOAT_FIELDS } from './abi.ts'

/**
 * Throws `internal` for a number that no word holds, rows that do not begin in the arena, a weight smaller than what its kernel
 * reads of it. What a sparse matrix takes is in its bytes, which loading checks; recurrent weights are not measured.
 */
export function checkPlan(plan: Plan): void {
  for (const op of plan.ops) {
    const { fields } = op
    const number = (name: string): number => {
      const value = fields[name]
      return typeof value === 'number' ? value : 0
    }
    const kind = number('rows')
    const times = kind < ROWS.routed ? 1 : kind - ROWS.routed
    const rows = kind === ROWS.logits ? plan.logitRows : plan.tokens * times
    for (const [name, value] of Object.entries(fields)) {
      const refuse = (why: string) => new HalfbyteError('internal', `op ${op.label}: ${name} ${why}`)
      if (typeof value === 'number') {
        if (!FLOAT_FIELDS.has(name) && value !== value >>> 0) throw refuse(`is ${value}, which no word holds`)
        continue
      }
      // An input may have a row for each token where the output has one for each expert, or for each row of logits.
      const last = (name === 'x' ? Math.min(rows, plan.tokens) : rows) - 1
      const [end, bytes] =
        'arena' in value
          ? [value.arena + last * number(`${name}_stride`) + 4, plan.arenaBytes]
          : [bytesRead(plan, op, name, value.slot, number), plan.slots[value.slot]?.bytes ?? 0]
      if (!(end <= bytes)) throw refuse(`reaches to ${end} of ${bytes} bytes`)
    }
  }
}

/** Of a weight that an op reads. */
function bytesRead(
  { slots }: Plan,
  { name }: PlanOp,
  field: string,
  slot: number,
  number: (name: string) => number,
): number {
  const encoding = slots[slot]?.encoding
  const outputs = roundUp(number('n'), ROW_PADDING) * (name.includes('swiglu') ? 2 : 1)
  if (encoding === undefined || isSparse(encoding)) return 1
  if (field === 'table') return matrixBytes(encoding, number('vocab'), number('n'))
  if (field !== 'w') return 4 * outputs
  return number('expert_bytes') * number('experts') || matrixBytes(encoding, outputs, number('k'))
}
