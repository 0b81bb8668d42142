// Gauge costs. In: a plan. Out: bytes per token and operations per prompt, accurate enough to compare two
// models.

import { BLOCK_POSITIONS } from '../../abi/constants.ts'
import { planCosts } from '../../graph/plan/cost.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import { planTotals } from '../../graph/plan/totals.ts'

/**
 * Bytes of weights and state that are read for a token at `position`. Rows stay in caches and do not count.
 */
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

/**
 * Operations for each number of recurrent state and row; a weight costs two. The value lies between those of
 * a scan and of SSD.
 */
const STATE_OPS = 7

/** Operations of a prompt. Ops that are cheap next to its matrix products are left out. */
export function prefillOps(plan: Plan, tokens: number): number {
  const products = planCosts(plan, { tokens, logitRows: 1, position: 0 }).filter(
    ({ kind }) => kind === 'linear',
  )
  const state = (plan.slabBytes / 4) * STATE_OPS * tokens
  return products.reduce((sum, { ops }) => sum + ops, state)
}
