// Plan check. In: a plan. Out: nothing, or an error for a record that would reach past the arena or a weight.

import { ROWS } from '../abi/constants.ts'
import { isSparse, matrixBytes, ROW_PADDING, roundUp } from '../abi/encodings.ts'
import { FLOAT_FIELDS } from '../abi/ops.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Plan } from '../graph/plan/plan.ts'

/**
 * Throws `internal` for a number that does not fit a word, for rows that do not begin in the arena, and for a
 * weight smaller than its kernel reads. Bytes of sparse matrices are checked when they are loaded. Sizes of
 * recurrent weights are not checked.
 */
export function checkPlan({ ops, slots, tokens, logitRows, arenaBytes }: Plan): void {
  for (const { fields, name, label } of ops) {
    const { n, k, vocab, rows, experts, expert_bytes } = fields as Readonly<Record<string, number>>
    const outputs = roundUp(n ?? 0, ROW_PADDING) * (name.includes('swiglu') ? 2 : 1)
    const kind = rows ?? 0
    const most = kind === ROWS.logits ? logitRows : tokens * Math.max(1, kind - ROWS.routed)
    for (const [field, value] of Object.entries(fields)) {
      // A number that does not fit a word keeps the NaN, which fails the check.
      let [end, bytes] = [Number.NaN, 2 ** 32]
      if (typeof value === 'number') {
        if (FLOAT_FIELDS.has(field) || value === value >>> 0) continue
      } else if ('arena' in value) {
        // An input may have one row per token where the output has one per expert or per row of logits.
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
