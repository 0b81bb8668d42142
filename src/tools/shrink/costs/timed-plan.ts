// Loads a model's plan, and times its steps and each of its ops.

import { BLOCK_POSITIONS } from '../../../core/abi/constants.ts'
import { ropeTables } from '../../../core/arch/rope.ts'
import { steadyClock } from '../../../core/base/time/clocks.ts'
import { StepBuffer } from '../../../core/generate/schedule/step-buffer.ts'
import { planTotals, type StepShape } from '../../../core/graph/plan/cost.ts'
import type { Build } from '../../../core/runtime/features.ts'
import type { Host } from '../../../core/runtime/host.ts'
import type { Arena } from '../../../core/runtime/memory/arena.ts'
import { openRuntime } from '../../../core/runtime/open-runtime.ts'
import { type Pool, SinglePool } from '../../../core/runtime/pool.ts'
import { SharedPool } from '../../../core/runtime/shared.ts'
import { type WrittenPlan, writePlan } from '../../../core/runtime/write-plan.ts'
import { SequenceState } from '../../../core/state/sequence-state.ts'
import { StateCache } from '../../../core/state/state-cache.ts'
import { loadWeights, type WeightHooks } from '../../../engine/load/load-weights.ts'
import { memoryNeed } from '../../../engine/load/memory-need.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'

/**
 * 0x3c3c3c3c is 0.01 as f32, and 60 as a code. The value does not affect timings; what matters is that the
 * memory has been written.
 */
const BYTE = 0x3c

/**
 * Writes the first `positions` positions of all groups of keys and values, whole blocks. Memory that was
 * never written is mapped to a single zero page, so reading it would only measure the cache. `blockBytes`:
 * block size of each group.
 */
export function fillState(
  arena: Arena,
  state: SequenceState,
  blockBytes: readonly number[],
  positions: number,
): void {
  for (const group of state.tables.keys()) {
    const bytes = blockBytes[group] ?? 0
    for (let block = 0; block < Math.ceil(positions / BLOCK_POSITIONS); block++) {
      const address = arena.u32[state.table(group) / 4 + block] ?? 0
      // This block has moved out of the window.
      if (address !== 0) arena.u8.fill(BYTE, address, address + bytes)
    }
  }
}

interface TimedPlanOptions extends WeightHooks {
  readonly host: Host
  readonly build: Build | 'auto'
  /** Maximum threads; fewer if memory cannot be shared. */
  readonly threads: number
}

/** A step that can be run repeatedly. */
export interface RepeatedStep {
  /** Mean milliseconds of the whole step in a single run, as in the engine. */
  steps(calls: number): number
  /**
   * Mean milliseconds of each op. Each op runs alone, but in the step's order, so that the caches are in the
   * same state as in a real step.
   */
  ops(calls: number): Float64Array
  /** Number of calls that take at least `leastMs`. */
  callsFor(leastMs: number): number
  release(): void
}

export interface TimedPlan {
  readonly build: Build
  readonly maxThreads: number
  resize(threads: number): Promise<void>
  /** Writes the state before the step. The step's ids are byte tokens. */
  repeat(shape: StepShape): RepeatedStep
  dispose(): void
}

/** A byte token in any vocabulary, and rarely a special one. */
const FIRST_TOKEN = 100

/**
 * Throws `out-of-memory`, `unsupported`, `internal` if no worker can start, and errors of reading weights.
 */
export async function openTimedPlan(prepared: PreparedModel, options: TimedPlanOptions): Promise<TimedPlan> {
  const { host } = options
  const now = steadyClock(() => host.now())
  const runtime = await openRuntime({ ...options, ...memoryNeed(prepared) })
  const { arena, engine, module, memoryKind } = runtime
  const { plan, contextLength } = prepared
  const written = writePlan(arena, plan, await loadWeights(arena, prepared, options))
  const capacity = { tokens: plan.tokens, logitRows: plan.logitRows, sequences: 1 }
  const slabBytes = plan.slabBytes > 0 ? [plan.slabBytes] : []
  const ropes = ropeTables(prepared.config, contextLength)
  const step = new StepBuffer(arena, capacity, plan.stateGroups.length + slabBytes.length, ropes)
  const { blockBytes } = planTotals(plan)
  const cache = new StateCache({ arena, blockBytes, slabBytes, contextLength })
  const startWorker = host.startWorker?.bind(host)
  const isShared = memoryKind === 'shared' && startWorker !== undefined
  const pool = isShared
    ? new SharedPool({ engine, module, arena, startWorker })
    : new SinglePool(engine, arena)
  return {
    build: runtime.build,
    maxThreads: runtime.maxThreads,
    async resize(threads) {
      if (pool instanceof SharedPool) await pool.resize(threads)
    },
    repeat: (shape) => repeatStep({ pool, written, step, cache, blockBytes, now }, shape),
    dispose: () => pool.dispose(),
  }
}

interface Placed {
  readonly pool: Pool
  readonly written: WrittenPlan
  readonly step: StepBuffer
  readonly cache: StateCache
  readonly blockBytes: readonly number[]
  now(): number
}

function repeatStep({ pool, written, step, cache, blockBytes, now }: Placed, shape: StepShape): RepeatedStep {
  const { records, count } = written
  const state = new SequenceState(cache)
  try {
    state.reserve(shape.position)
    state.advance(shape.position)
    state.reserve(shape.tokens)
    fillState(cache.arena, state, blockBytes, shape.position + shape.tokens)
    step.begin()
    step.addSequence(state)
    for (let row = 0; row < shape.tokens; row++) step.addToken(FIRST_TOKEN + row, row === shape.tokens - 1)
    step.finish()
  } catch (error) {
    state.release()
    throw error
  }
  const steps = (calls: number): number => {
    const start = now()
    for (let call = 0; call < calls; call++) pool.run(records, step.step, 0, count)
    return (now() - start) / calls
  }
  return {
    steps,
    /** Reads the clock once between two ops, so that its rounding shifts time between ops but loses none. */
    ops(calls) {
      const sums = new Float64Array(count)
      for (let call = 0; call < calls; call++) {
        let last = now()
        for (let op = 0; op < count; op++) {
          pool.run(records, step.step, op, op + 1)
          const next = now()
          sums[op]! += next - last
          last = next
        }
      }
      return sums.map((ms) => ms / calls)
    },
    callsFor(leastMs) {
      steps(1)
      return Math.ceil(leastMs / Math.max(steps(1), 1e-3))
    },
    release: () => state.release(),
  }
}
