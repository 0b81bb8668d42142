// Additions: a plan that adds rows to rows, with known sums.
import { ROWS } from '../../abi/constants.ts'
import type { Plan, PlanOp, PlanPointer } from '../../graph/plan/plan.ts'

export const TOKENS = 13
export const WIDTH = 1056
export const ADDITIONS = 40

/** y += x, `ADDITIONS` times. `last`: changed fields of the last record. */
export function additions(last?: Partial<Record<string, number | PlanPointer>>): Plan {
  const stride = WIDTH * 4
  const fields = {
    rows: ROWS.tokens,
    x: { arena: 0 },
    x_stride: stride,
    y: { arena: TOKENS * stride },
    y_stride: stride,
  }
  const op: PlanOp = {
    name: 'add',
    label: 'add',
    fields: { ...fields, n: WIDTH, scale: 1 },
  }
  const ops = Array.from({ length: ADDITIONS }, () => op)
  if (last !== undefined) {
    const broken = Object.fromEntries(Object.entries({ ...op.fields, ...last })) as PlanOp['fields']
    ops[ADDITIONS - 1] = { ...op, fields: broken }
  }
  return {
    ops,
    slots: [],
    stateGroups: [],
    exchanges: [],
    slabBytes: 0,
    pools: [],
    arenaBytes: 2 * TOKENS * stride,
    tokens: TOKENS,
    logitRows: 1,
    logits: { arena: 0, stride, width: WIDTH },
    hidden: { arena: 0, stride, width: WIDTH, ops: 0 },
  }
}
