// The steps of a program: calls of emitted functions and of engine kernels.
import type { KernelCall } from '../emit/kernel.ts'
import type { KernelLoop } from '../loops/loops.ts'

export type Step = EmittedStep | KernelStep

interface StepBase {
  /** Names of the file's nodes that it computes. */
  readonly nodes: readonly string[]
  /** The cost of a run in steps, as counted by `NetworkLimits`. */
  readonly taken: number
}

/** A step that runs an emitted function. */
export interface EmittedStep extends StepBase {
  readonly call: KernelCall
  /** Equal for steps that share a function. */
  readonly key: string
  /**
   * Rows, or panels times blocks of rows of all products in a batch, that threads can split between them. 1
   * if rows are ordered.
   */
  readonly units: number
}

/** A step that runs an engine kernel. */
interface KernelStep extends StepBase {
  readonly kernel: KernelLoop
}

/** Steps, with their functions emitted. */
export const emitted = (steps: readonly Step[]): readonly EmittedStep[] =>
  steps.filter((step) => 'call' in step)
