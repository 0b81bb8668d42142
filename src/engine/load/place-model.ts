// Places a prepared model in memory: its weights, plan, step and state.

import { BLOCK_POSITIONS } from '../../core/abi/constants.ts'
import { keyShiftOf } from '../../core/arch/families.ts'
import { type RopeTable, ropeTables } from '../../core/arch/rope.ts'
import type { RowSource } from '../../core/generate/schedule/row-source.ts'
import { StepBuffer } from '../../core/generate/schedule/step-buffer.ts'
import { planTotals } from '../../core/graph/plan/cost.ts'
import type { Plan, WeightSlot } from '../../core/graph/plan/plan.ts'
import type { Arena, Ptr } from '../../core/runtime/memory/arena.ts'
import { KvShift } from '../../core/runtime/memory/kv-shift.ts'
import { PartCheck } from '../../core/runtime/part-check.ts'
import type { Pool } from '../../core/runtime/pool.ts'
import { type WrittenPlan, writePlan } from '../../core/runtime/write-plan.ts'
import type { BlockMirror, TablePosition } from '../../core/state/block-pool.ts'
import { StateCache } from '../../core/state/state-cache.ts'
import {
  dealWeights,
  loadWeights,
  modelFingerprint,
  type ShardedPlans,
  type WeightHooks,
  WeightSample,
} from './load-weights.ts'
import type { PreparedModel } from './prepare.ts'

/**
 * If several shards have the same KV heads or channels of B and C, these are bit-identical, so any copy will
 * do.
 */
function gatherer(
  arena: Arena,
  { group: shards, plans }: ShardedPlans,
): Pick<BlockMirror, 'wholeBytes' | 'gather' | 'scatter'> {
  /** The part of a group that each shard has. */
  const held = (group: number) => plans.flatMap(({ pools }) => pools[group] ?? [])
  const wholeBytes = (plans[0]?.pools ?? []).map((pool) => pool.wholeBytes)
  return {
    wholeBytes,
    async gather(group, block) {
      const whole = new Uint8Array(wholeBytes[group] ?? 0)
      const owns = held(group)
      const parts = owns.map((own, shard) =>
        shard === 0
          ? arena.u8.slice(block, block + own.bytes)
          : shards.block(shard, { type: 'block', group, block }),
      )
      for (const [shard, part] of (await Promise.all(parts)).entries()) {
        for (const [here, there, bytes] of owns[shard]!.runs)
          whole.set(part.subarray(here, here + bytes), there)
      }
      return whole
    },
    async scatter(group, block, whole) {
      const written = held(group).map(async (own, shard) => {
        const bytes = new Uint8Array(own.bytes)
        for (const [here, there, length] of own.runs) bytes.set(whole.subarray(there, there + length), here)
        if (shard === 0) arena.u8.set(bytes, block)
        else await shards.block(shard, { type: 'block', group, block, bytes })
      })
      await Promise.all(written)
    },
  }
}

/** A model in memory, ready for a pool to run its plan on its step. */
export interface PlacedModel {
  readonly arena: Arena
  readonly plan: Plan
  readonly written: WrittenPlan
  readonly step: StepBuffer
  readonly cache: StateCache
  readonly weightsBytes: number
  /** Sets the pool that moves the state; the pool is created after the weights are loaded. */
  connect(pool: Pool): void
  /** The hash that ties saved state to the model. */
  fingerprint(): Promise<string>
}

const STEP_SEQUENCES = 32

interface PlaceOptions {
  /** The shards that hold the model's parts. Default: none. */
  readonly sharded?: ShardedPlans | undefined
  /** Rows in place of tokens. Default: none. */
  readonly inputs?: RowSource | undefined
  /** Maximum number of sequences in one step. A guidance pair counts twice. Default: 32. */
  readonly sequences?: number | undefined
  /** The slots of the weights, if they are reserved. */
  readonly reserved?: readonly Ptr[] | undefined
}

/** Throws `out-of-memory`, errors of reading weights, or the signal's reason. */
export async function placeModel(
  arena: Arena,
  prepared: PreparedModel,
  hooks: WeightHooks,
  { sharded, inputs, sequences = STEP_SEQUENCES, reserved }: PlaceOptions = {},
): Promise<PlacedModel> {
  // Objects that outlive the load reference these instead of `prepared`, which would keep the files' headers
  // in memory.
  const { config, plan: whole, contextLength, stateBytes: budgetBytes } = prepared
  const plan = sharded?.plans[0] ?? whole
  const capacity = { tokens: plan.tokens, logitRows: plan.logitRows, sequences }
  const ropes = ropeTables(config, contextLength)
  const { addresses: slots, samples } =
    sharded === undefined
      ? { addresses: await loadWeights(arena, prepared, hooks, reserved), samples: undefined }
      : await placeShards(arena, prepared, sharded, ropes, hooks)
  const written = writePlan(arena, plan, slots)
  const slabBytes = plan.slabBytes > 0 ? [plan.slabBytes] : []
  const step = new StepBuffer(arena, capacity, plan.stateGroups.length + slabBytes.length, ropes, inputs)
  const { blockBytes } = planTotals(plan)
  const windows = plan.stateGroups.map(({ window }) => window)
  let shift: KvShift | undefined
  const cache = new StateCache({
    arena,
    blockBytes,
    windows,
    slabBytes,
    contextLength,
    budgetBytes,
    // Keys at image coordinates cannot be rotated further either.
    isFixed: inputs?.isPlaced === true || keyShiftOf(config) === 'fixed',
    move: (group, from, to, count) => {
      const kvPosition = ({ table, position }: TablePosition) => ({
        tables: windows.map(() => table),
        position,
      })
      shift?.move(kvPosition(from), kvPosition(to), count, group)
      sharded?.group.tell({ type: 'move', group, from: run(from, count), to: run(to, count), count })
    },
    mirror: sharded && {
      copy: (group, from, to) => sharded.group.tell({ type: 'copy', group, from, to }),
      clear: (group, block) => sharded.group.tell({ type: 'clear', group, block }),
      ...gatherer(arena, sharded),
    },
  })
  const run = ({ table, position }: TablePosition, count: number) => {
    const end = Math.ceil((position + count) / BLOCK_POSITIONS)
    return { blocks: arena.u32.slice(table / 4, table / 4 + end), position }
  }
  const weightsBytes = plan.slots.reduce((sum, slot) => sum + slot.bytes, 0)
  const connect = (pool: Pool): void => {
    if (sharded === undefined) cache.check = new PartCheck(pool, arena)
    shift = new KvShift({ pool, arena, plan, slots, ropes: ropes.map(({ frequencies }) => frequencies) })
  }
  const sample = (slot: WeightSlot, index: number): WeightSample => {
    const taken = new WeightSample(slot)
    taken.see(0, arena.u8.subarray(slots[index], slots[index]! + slot.bytes))
    return taken
  }
  let known: Promise<string> | undefined
  const fingerprint = (): Promise<string> => {
    known ??= modelFingerprint(config, whole, samples ?? plan.slots.map(sample))
    return known
  }
  return { arena, plan, written, step, cache, weightsBytes, connect, fingerprint }
}

/** Plans and weights of all shards. */
async function placeShards(
  arena: Arena,
  prepared: PreparedModel,
  sharded: ShardedPlans,
  ropes: readonly RopeTable[],
  hooks: WeightHooks,
): ReturnType<typeof dealWeights> {
  const { group, plans } = sharded
  const tableWords = Math.ceil(prepared.contextLength / BLOCK_POSITIONS)
  await group.place(plans, { shards: plans.length, sequences: STEP_SEQUENCES, tableWords, ropes })
  return dealWeights(arena, prepared, sharded, hooks)
}
