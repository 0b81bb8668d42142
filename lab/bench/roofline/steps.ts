// Measures each op of a decode step and of a prefill chunk: its cost and its time.

import { openModel } from '../../../src/core/arch/open-model.ts'
import type { ByteSource } from '../../../src/core/base/bytes.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import type { KvFormat } from '../../../src/core/graph/ir.ts'
import { type OpCost, planCosts, type StepShape } from '../../../src/core/graph/plan/cost.ts'
import type { Build } from '../../../src/core/runtime/features.ts'
import type { Host } from '../../../src/core/runtime/host.ts'
import type { WeightPolicy } from '../../../src/core/weights/policy.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { openTimedPlan } from '../../../src/tools/shrink/costs/timed-plan.ts'
import { type Spread, spread } from '../spread.ts'
import type { Sampling } from './sample.ts'
import { tilesOf } from './tiles.ts'

export interface StepOptions extends Sampling {
  readonly build: Build
  /** Thread counts; those above 1 are skipped if memory cannot be shared. */
  readonly threads: readonly number[]
  /** Positions before the decode step. */
  readonly position: number
  /** Default `auto`. */
  readonly weights?: WeightPolicy
  /** Default f32. */
  readonly kvCache?: KvFormat
  /** Rows of the prefill chunk, which begins a sequence; at most the plan's rows per step. */
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
  /** Parts that threads share. */
  readonly tiles: number
  /** One value per sample, in milliseconds. */
  readonly ms: readonly number[]
}
export interface TimedStep {
  readonly stage: Stage
  readonly build: Build
  readonly threads: number
  readonly shape: StepShape
  /** The whole step in one run, as in the engine. */
  readonly stepMs: Spread
  readonly ops: readonly TimedOp[]
}
export interface TimedModel {
  readonly name: string
  readonly parameters: number
  readonly steps: readonly TimedStep[]
}

/**
 * Loads the model once and runs its steps with each number of threads. Each op runs alone but in the step's
 * order, so that the caches are in the same state as in a real step. `onProgress` receives the share done, 0
 * to 1.
 */
export async function measureSteps(
  host: Host,
  sources: readonly ByteSource[],
  options: StepOptions,
  onProgress: (done: number) => void = () => {},
): Promise<TimedModel> {
  return measureFile(host, await openModel(sources), options, onProgress)
}

/** The same, for an open model. */
export async function measureFile(
  host: Host,
  file: ModelFile,
  options: StepOptions,
  onProgress: (done: number) => void = () => {},
): Promise<TimedModel> {
  const { build, samples } = options
  const contextLength = Math.max(options.position + 1, options.chunk)
  const { weights = 'auto', kvCache } = options
  const prepared = await prepareModel(file, { weights, kvCache, contextLength })
  const { plan } = prepared
  const timed = await openTimedPlan(prepared, {
    host,
    build,
    threads: Math.max(...options.threads),
    onWeight: (done, total) => onProgress((LOAD_SHARE * done) / total),
  })
  const position = Math.min(options.position, prepared.contextLength - 1)
  const chunk = Math.min(options.chunk, plan.tokens, prepared.contextLength)
  const shapes: readonly (readonly [Stage, StepShape])[] = [
    ['decode', { tokens: 1, logitRows: 1, position }],
    ['prefill', { tokens: chunk, logitRows: 1, position: 0 }],
  ]
  const steps: TimedStep[] = []
  const counts = options.threads.filter((threads) => threads <= timed.maxThreads)
  const runs = counts.flatMap((threads) => shapes.map((shape) => [threads, ...shape] as const))
  try {
    for (const [index, [threads, stage, shape]] of runs.entries()) {
      await timed.resize(threads)
      const costs = planCosts(plan, shape)
      const repeated = timed.repeat(shape)
      try {
        const calls = repeated.callsFor(options.leastMs)
        const stepMs: number[] = []
        const opMs: Float64Array[] = []
        for (let sample = 0; sample < samples; sample++) {
          stepMs.push(repeated.steps(calls))
          opMs.push(repeated.ops(calls))
          onProgress(LOAD_SHARE + ((1 - LOAD_SHARE) * (index + (sample + 1) / samples)) / runs.length)
        }
        const ops = plan.ops.map((planned, op) => ({
          name: planned.name,
          label: planned.label,
          cost: costs[op]!,
          tiles: tilesOf(planned, shape),
          ms: opMs.map((each) => each[op]!),
        }))
        steps.push({ stage, build, threads, shape, stepMs: spread(stepMs), ops })
      } finally {
        repeated.release()
      }
    }
  } finally {
    timed.dispose()
  }
  return { name: file.name, parameters: prepared.parameters, steps }
}

/** The part of the progress bar that loading takes. */
const LOAD_SHARE = 0.3
