// Plan check. In: a plan. Out: nothing, or an error where a record would reach past the arena or past a weight.

import { ROWS } from '../abi/constants.ts'
import { isSparse, matrixBytes, ROW_PADDING, roundUp } from '../abi/encodings.ts'
import { FLOAT_FIELDS } from '../abi/ops.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Plan } from '../graph/plan/plan.ts'

/**
 * Throws `internal` for a number that no word holds, rows that do not begin in the arena, a weight smaller than what its kernel
 * reads of it. What a sparse matrix takes is in its bytes, which loading checks; recurrent weights are not measured.
 */
export function checkPlan({ ops, slots, tokens, logitRows, arenaBytes }: Plan): void {
  for (const { fields, name, label } of ops) {
    const { n, k, vocab, rows, experts, expert_bytes } = fields as Readonly<Record<string, number>>
    const outputs = roundUp(n ?? 0, ROW_PADDING) * (name.includes('swiglu') ? 2 : 1)
    const kind = rows ?? 0
    const most = kind === ROWS.logits ? logitRows : tokens * Math.max(1, kind - ROWS.routed)
    for (const [field, value] of Object.entries(fields)) {
      // Of a number that no word holds it is none.
      let [end, bytes] = [Number.NaN, 2 ** 32]
      if (typeof value === 'number') {
        if (FLOAT_FIELDS.has(field) || value === value >>> 0) continue
      } else if ('arena' in value) {
        // An input may have a row for each token where the output has one for each expert, or for each row of logits.
        const last = (field === 'x' ? Math.min(most, tokens) : most) - 1
        end = value.arena + last * ((fields[`${field}_stride`] as number) ?? 0) + 4
        bytes = arenaBytes
      } else {
        const { encoding = 'f32', bytes: found = 0 } = slots[value.slot] ?? {}
        bytes = found
        end = 4 * outputs
        if (bytes === 0 || isSparse(encoding)) end = 1
        else if (field === 'table') end = matrixBytes(encoding, vocab!, n!)
        else if (field === 'w') end = expert_bytes! * experts! || matrixBytes(encoding, outputs, k ?? 0)
      }
      if (!(end <= bytes))
        throw new HalfbyteError('internal', `${field} of op ${label} ends at ${end} of ${bytes}`)
    }
  }
}
