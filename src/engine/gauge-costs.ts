// Gauge costs. In: a plan. Out: what a token must move and a prompt must do, near enough to compare two models.
import { ROWS } from '../graph/op-codes.ts'
import type { Plan } from '../graph/plan.ts'
import { BLOCK_POSITIONS } from '../graph/state-layout.ts'
import { planTotals } from '../graph/totals.ts'

/** Weights and state that a token moves behind `position` others; rows stay in caches. */
export function decodeBytes(plan: Plan, position: number): number {
  const { decodeBytes: weights, blockBytes, slabBytes } = planTotals(plan)
  return plan.stateGroups.reduce(
    (sum, { window }, group) => {
      const positions = window === 0 ? position : Math.min(position, window)
      return sum + ((blockBytes[group] ?? 0) / BLOCK_POSITIONS) * positions
    },
    weights + 2 * slabBytes,
  )
}

/** Of each number of recurrent state and row, beside two for each weight: between those of a scan and of SSD. */
const STATE_OPS = 7

/** Operations of a prompt, but for those that are few beside its products. */
export function prefillOps(plan: Plan, tokens: number): number {
  const state = (plan.slabBytes / 4) * STATE_OPS * tokens
  return plan.ops.reduce((sum, { name, fields }) => {
    if (!name.startsWith('linear')) return sum
    const rows = Number(fields['rows'])
    const times = rows === ROWS.logits ? 1 : tokens * Math.max(1, rows - ROWS.routed)
    const sides = name.startsWith('linear_swiglu') ? 2 : 1
    return sum + 2 * sides * Number(fields['n']) * Number(fields['k']) * times
  }, state)
}
