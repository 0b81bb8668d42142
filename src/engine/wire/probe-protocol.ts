// Probe protocol. In: nothing. Out: the type of what a page learns about a model before loading it.
import type { KvFormat } from '../../graph/ir.ts'

/** Load options that make a model smaller. Spread them over the original options. */
export interface Smaller {
  readonly contextLength?: number
  readonly kvCache?: KvFormat
  readonly weights?: 'w4'
}

/** What is known about a model before its weights are downloaded. */
export interface ProbeReport {
  /** Whether the weights, the activations and the state of a full context fit in memory. */
  readonly fits: boolean
  readonly neededBytes: number
  /**
   * Most bytes that this page can get, measured by asking for them. Less than the need of a load that was
   * killed here.
   */
  readonly grantedBytes: number
  /** Context length in tokens that this report assumes. */
  readonly contextLength: number
  /** Bytes of weights that are not on this device yet. */
  readonly downloadBytes: number
  /**
   * Estimated speeds, from kernels run for a fifth of a second and the cost of the model's plan at position
   * 512.
   */
  readonly prefillTokensPerSecond: number
  readonly decodeTokensPerSecond: number
  /**
   * What would fit instead. Tried in order: a smaller context, int8 keys and values, 4-bit weights,
   * combinations of these.
   */
  readonly suggestion: Smaller | undefined
}
