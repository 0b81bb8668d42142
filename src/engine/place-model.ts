// Placing. In: a prepared model and an arena. Out: its weights, plan, step and state in that memory.
import { ropeTables } from '../arch/rope.ts'
import { StepBuffer } from '../generate/step-buffer.ts'
import type { Plan } from '../graph/plan.ts'
import { planTotals } from '../graph/print.ts'
import type { Arena } from '../runtime/arena.ts'
import { KvShift } from '../runtime/kv-shift.ts'
import type { Pool } from '../runtime/pool.ts'
import { type WrittenPlan, writePlan } from '../runtime/write-plan.ts'
import type { Place } from '../state/shift.ts'
import { StateCache } from '../state/state-cache.ts'
import { modelFingerprint } from './fingerprint.ts'
import { loadWeights, type WeightHooks } from './load-weights.ts'
import type { PreparedModel } from './prepare.ts'

/** A model in memory; a pool can run its plan on its step. */
export interface PlacedModel {
  readonly arena: Arena
  readonly plan: Plan
  readonly written: WrittenPlan
  readonly step: StepBuffer
  readonly cache: StateCache
  readonly weightsBytes: number
  /** Lets the state be moved by `pool`, which comes after the weights. */
  connect(pool: Pool): void
  /** What saved state knows the model by. */
  fingerprint(): Promise<string>
}

/** Most sequences that one step carries; a pair for guidance counts twice. */
const STEP_SEQUENCES = 32

/** Throws `out-of-memory`, what reading weights throws, or the signal's reason. */
export async function placeModel(
  arena: Arena,
  prepared: PreparedModel,
  hooks: WeightHooks,
): Promise<PlacedModel> {
  const { plan, config, contextLength, stateBytes: budgetBytes } = prepared
  const slots = await loadWeights(arena, prepared, hooks)
  const written = writePlan(arena, plan, slots)
  const capacity = { tokens: plan.tokens, logitRows: plan.logitRows, sequences: STEP_SEQUENCES }
  const ropes = ropeTables(config, contextLength)
  const slabBytes = plan.slabBytes > 0 ? [plan.slabBytes] : []
  const step = new StepBuffer(arena, capacity, plan.stateGroups.length + slabBytes.length, ropes)
  const { blockBytes } = planTotals(plan)
  const windows = plan.stateGroups.map(({ window }) => window)
  let shift: KvShift | undefined
  const cache = new StateCache({
    ...{ arena, blockBytes, windows, slabBytes, contextLength, budgetBytes },
    move: (group, from, to, count) => {
      const place = ({ table, position }: Place) => ({ tables: windows.map(() => table), position })
      shift?.move(place(from), place(to), count, group)
    },
  })
  const weightsBytes = plan.slots.reduce((sum, slot) => sum + slot.bytes, 0)
  const connect = (pool: Pool): void => {
    shift = new KvShift({ pool, arena, plan, ropes: ropes.map(({ frequencies }) => frequencies) })
  }
  const fingerprint = (): Promise<string> => modelFingerprint(arena, config, plan, slots)
  return { arena, plan, written, step, cache, weightsBytes, connect, fingerprint }
}
