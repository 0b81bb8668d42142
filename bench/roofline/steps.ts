// Steps. In: a host, a model's files, what to run. Out: the cost of each op of a decode step and of a prefill
// chunk, and its time.
import { ropeTables } from '../../src/arch/rope.ts'
import type { ByteSource } from '../../src/base/bytes.ts'
import { loadWeights } from '../../src/engine/load/load-weights.ts'
import { memoryNeed } from '../../src/engine/load/memory-need.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import { openModel } from '../../src/formats/open-model.ts'
import { StepBuffer } from '../../src/generate/schedule/step-buffer.ts'
import type { KvFormat } from '../../src/graph/ir.ts'
import { type OpCost, planCosts, type StepShape } from '../../src/graph/plan/cost.ts'
import { planTotals } from '../../src/graph/plan/totals.ts'
import type { Build } from '../../src/runtime/features.ts'
import type { Host } from '../../src/runtime/host.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import type { Pool } from '../../src/runtime/pool.ts'
import { SharedPool } from '../../src/runtime/shared.ts'
import { SinglePool } from '../../src/runtime/single.ts'
import { type WrittenPlan, writePlan } from '../../src/runtime/write-plan.ts'
import { SequenceState } from '../../src/state/sequence-state.ts'
import { StateCache } from '../../src/state/state-cache.ts'
import type { WeightPolicy } from '../../src/weights/choose.ts'
import { fillState } from '../fill-state.ts'
import { type Spread, spread } from '../spread.ts'
import type { Sampling } from './sample.ts'

export interface StepOptions extends Sampling {
  readonly build: Build
  /** Thread counts; those beyond 1 are left out where memory cannot be shared. */
  readonly threads: readonly number[]
  /** Positions before the decode step. */
  readonly position: number
  /** Default `auto`. */
  readonly weights?: WeightPolicy
  /** Default f32. */
  readonly kvCache?: KvFormat
  /** Rows of the prefill chunk, which begins a sequence; at most what a step of the plan holds. */
  readonly chunk: number
}

export type Stage = 'decode' | 'prefill'

/** One op of the plan. */
export interface TimedOp {
  /** e.g. `linear_w4a8_g32` */
  readonly name: string
  /** e.g. `layers.3.mlp_down [tokens, 896]` */
  readonly label: string
  readonly cost: OpCost
  /** One value per sample, in milliseconds. */
  readonly ms: readonly number[]
}
export interface TimedStep {
  readonly stage: Stage
  readonly build: Build
  readonly threads: number
  readonly shape: StepShape
  /** The whole step in one run, as the engine does it. */
  readonly stepMs: Spread
  readonly ops: readonly TimedOp[]
}
export interface TimedModel {
  readonly name: string
  readonly parameters: number
  readonly steps: readonly TimedStep[]
}

/**
 * Loads the model once and runs its steps with each number of threads. Every op is run alone but in the
 * step's order, so that caches hold what they hold in a real step. `onProgress` gets the share done, 0 to 1.
 */
export async function measureSteps(
  host: Host,
  sources: readonly ByteSource[],
  options: StepOptions,
  onProgress: (done: number) => void = () => {},
): Promise<TimedModel> {
  const { build } = options
  const contextLength = Math.max(options.position + 1, options.chunk)
  const file = await openModel(sources)
  const { weights = 'auto', kvCache } = options
  const prepared = await prepareModel(file, { weights, kvCache, contextLength })
  const most = Math.max(...options.threads)
  const runtime = await openRuntime({ host, build, threads: most, ...memoryNeed(prepared) })
  const { arena, engine, module, memoryKind } = runtime
  const { plan } = prepared
  const slots = await loadWeights(arena, prepared, {
    onWeight: (done, total) => onProgress((LOAD_SHARE * done) / total),
  })
  const written = writePlan(arena, plan, slots)
  const capacity = { tokens: plan.tokens, logitRows: plan.logitRows, sequences: 1 }
  const ropes = ropeTables(prepared.config, prepared.contextLength)
  const slabBytes = plan.slabBytes > 0 ? [plan.slabBytes] : []
  const step = new StepBuffer(arena, capacity, plan.stateGroups.length + slabBytes.length, ropes)
  const { blockBytes } = planTotals(plan)
  const cache = new StateCache({ arena, blockBytes, slabBytes, contextLength: prepared.contextLength })
  const startWorker = host.startWorker?.bind(host)
  const isShared = memoryKind === 'shared' && startWorker !== undefined
  const pool = isShared
    ? new SharedPool({ engine, module, arena, startWorker })
    : new SinglePool(engine, arena)
  const position = Math.min(options.position, prepared.contextLength - 1)
  const chunk = Math.min(options.chunk, plan.tokens, prepared.contextLength)
  const shapes: readonly (readonly [Stage, StepShape])[] = [
    ['decode', { tokens: 1, logitRows: 1, position }],
    ['prefill', { tokens: chunk, logitRows: 1, position: 0 }],
  ]
  const steps: TimedStep[] = []
  const counts = options.threads.filter((threads) => threads <= runtime.maxThreads)
  const runs = counts.flatMap((threads) => shapes.map((shape) => [threads, ...shape] as const))
  try {
    for (const [index, [threads, stage, shape]] of runs.entries()) {
      if (pool instanceof SharedPool) await pool.resize(threads)
      const part = (done: number) =>
        onProgress(LOAD_SHARE + ((1 - LOAD_SHARE) * (index + done)) / runs.length)
      const costs = planCosts(plan, shape)
      const times = timeStep(
        { pool, written, step, cache, blockBytes, now: () => host.now() },
        shape,
        options,
        part,
      )
      const ops = plan.ops.map(({ name, label }, op) => ({
        name,
        label,
        cost: costs[op]!,
        ms: times.ops[op]!,
      }))
      steps.push({ stage, build, threads, shape, stepMs: spread(times.step), ops })
    }
  } finally {
    pool.dispose()
  }
  return { name: file.name, parameters: prepared.parameters, steps }
}

/** Of the progress that is shown, loading's part. */
const LOAD_SHARE = 0.3
/** A byte token of any vocabulary, and no special one of most. */
const FIRST_TOKEN = 100

interface Bench {
  readonly pool: Pool
  readonly written: WrittenPlan
  readonly step: StepBuffer
  readonly cache: StateCache
  readonly blockBytes: readonly number[]
  now(): number
}

function timeStep(
  { pool, written, step, cache, blockBytes, now }: Bench,
  shape: StepShape,
  { samples, leastMs }: Sampling,
  onProgress: (done: number) => void,
): { step: number[]; ops: number[][] } {
  const { records, count } = written
  const { arena } = cache
  const state = new SequenceState(cache)
  const ops = Array.from({ length: count }, () => [] as number[])
  const steps: number[] = []
  try {
    state.reserve(shape.position)
    state.advance(shape.position)
    state.reserve(shape.tokens)
    fillState(arena, state, blockBytes, shape.position + shape.tokens)
    step.begin()
    step.addSequence(state)
    for (let row = 0; row < shape.tokens; row++) step.addToken(FIRST_TOKEN + row, row === shape.tokens - 1)
    step.finish()
    const warm = () => pool.run(records, step.step, 0, count)
    warm()
    const start = now()
    warm()
    const calls = Math.ceil(leastMs / Math.max(now() - start, 1e-3))
    for (let sample = 0; sample < samples; sample++) {
      steps.push(meanStep(calls))
      for (const [op, ms] of meanOps(calls).entries()) ops[op]!.push(ms)
      onProgress((sample + 1) / samples)
    }
  } finally {
    state.release()
  }
  return { step: steps, ops }

  function meanStep(calls: number): number {
    const start = now()
    for (let call = 0; call < calls; call++) pool.run(records, step.step, 0, count)
    return (now() - start) / calls
  }
  /** The clock is read once between two ops: what its rounding takes from one it gives to the other. */
  function meanOps(calls: number): Float64Array {
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
  }
}
