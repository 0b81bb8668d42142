// Types of the messages between a roofline page and its worker, and how much to measure.
import type { KvFormat } from '../../../src/core/graph/ir.ts'
import type { Build } from '../../../src/core/runtime/features.ts'
import type { WeightPolicy } from '../../../src/core/weights/policy.ts'
import type { LimitOptions, Limits } from './limits.ts'
import type { StepOptions, TimedModel } from './steps.ts'

/** An absolute address, or the files of a model. */
export type ModelPlace = string | readonly File[]

/**
 * Sent to the worker, once. The worker is terminated after its answer, so that each job can reuse the memory
 * of the previous one.
 */
export type Job =
  | { readonly type: 'limits'; readonly options: LimitOptions }
  | { readonly type: 'steps'; readonly options: StepOptions; readonly model: ModelPlace }

/** Sent by the worker. */
export type Report =
  /** Share of the job that is done, 0 to 1. */
  | { readonly type: 'progress'; readonly done: number }
  | { readonly type: 'limits'; readonly limits: Limits }
  | { readonly type: 'steps'; readonly model: TimedModel }
  | { readonly type: 'failed'; readonly message: string }

/** How much to measure. */
export interface Effort {
  readonly builds: readonly Build[]
  /** Weight policy; default `auto`. */
  readonly weights?: WeightPolicy
  /** Format of keys and values; default f32. */
  readonly kvCache?: KvFormat
  /** Whether the cost of waiting is measured too; default true. */
  readonly waits?: boolean
  readonly threads: readonly number[]
  /** Working sets in bytes, ascending. */
  readonly sets: readonly number[]
  readonly samples: number
  /** Minimum length of a sample of a limit, and of a step. */
  readonly limitMs: number
  readonly stepMs: number
  /** Positions before the decode step. */
  readonly position: number
  /** Rows of the prefill chunk. */
  readonly chunk: number
}

const MEGABYTE = 2 ** 20
const megabytes = (...sizes: number[]) => sizes.map((size) => size * MEGABYTE)

/** Measures everything. Takes less than 90 s for a model of 0.5 B weights on two quiet cores. */
export const FULL: Effort = {
  builds: ['relaxed', 'simd128'],
  threads: [1, 2],
  sets: megabytes(1, 4, 16, 64, 256, 512),
  samples: 5,
  limitMs: 10,
  stepMs: 40,
  position: 512,
  chunk: 128,
}
/** Uses less memory, for visitors' devices. */
export const PAGE: Effort = { ...FULL, sets: megabytes(1, 4, 16, 64, 256), position: 128, chunk: 64 }
/** Just enough to check that everything works. */
export const QUICK: Effort = { ...PAGE, sets: megabytes(1, 4), limitMs: 1, stepMs: 2, chunk: 16 }
