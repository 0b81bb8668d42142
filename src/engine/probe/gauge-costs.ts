// Gauge costs. In: a plan. Out: what a token must move and a prompt must do, near enough to compare two models.

import { BLOCK_POSITIONS } from '../../abi/constants.ts'
import { planCosts } from '../../graph/plan/cost.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import { planTotals } from '../../graph/plan/totals.ts'

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
  const products = planCosts(plan, { tokens, logitRows: 1, position: 0 }).filter(
    ({ kind }) => kind === 'linear',
  )
  const state = (plan.slabBytes / 4) * STATE_OPS * tokens
  return products.reduce((sum, { ops }) => sum + ops, state)
}
