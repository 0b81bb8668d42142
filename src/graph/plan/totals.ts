// Totals. In: a plan. Out: its bytes by kind.
import { planCosts } from './cost.ts'
import type { Plan } from './plan.ts'
import { blockBytes } from './state-layout.ts'

const TOKEN = { tokens: 1, logitRows: 1, position: 0 } as const

export interface PlanTotals {
  /** All weight slots in linear memory. */
  readonly weightBytes: number
  /** Peak of the activation arena. */
  readonly arenaBytes: number
  /** One block of 64 positions, per state group. */
  readonly blockBytes: readonly number[]
  /** One sequence's slab. */
  readonly slabBytes: number
  /**
   * Weights read to decode one token: all matrices, but one row of an embedding table and only the experts
   * that a token uses.
   */
  readonly decodeBytes: number
}

export function planTotals(plan: Plan): PlanTotals {
  return {
    weightBytes: plan.slots.reduce((sum, { bytes }) => sum + bytes, 0),
    arenaBytes: plan.arenaBytes,
    blockBytes: plan.stateGroups.map(blockBytes),
    slabBytes: plan.slabBytes,
    decodeBytes: planCosts(plan, TOKEN).reduce((sum, { weightBytes }) => sum + weightBytes, 0),
  }
}
