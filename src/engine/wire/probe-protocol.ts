// Probe protocol. In: nothing. Out: the type of what a page learns about a model before loading it.
import type { KvFormat } from '../../graph/ir.ts'

/** Load options that make a model smaller. Spread them over the original options. */
export interface Smaller {
  /** Tokens. Absent if the length need not change. */
  readonly contextLength?: number
  /** Absent if the format need not change. */
  readonly kvCache?: KvFormat
  /** Absent if the precision need not change. */
  readonly weights?: 'w4'
}

/** What is known about a model before its weights are downloaded. */
export interface ProbeReport {
  /** Whether the weights, the activations and the state of a full context fit in memory. */
  readonly fits: boolean
  /** Bytes of memory for the weights, the activations and the state of a full context. */
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
   * Estimated speed of reading a prompt, from kernels run for a fifth of a second and the cost of the model's
   * plan at position 512.
   */
  readonly prefillTokensPerSecond: number
  /** Estimated speed of writing a reply, in the same way. */
  readonly decodeTokensPerSecond: number
  /**
   * What would fit instead. Tried in order: a smaller context, int8 keys and values, 4-bit weights,
   * combinations of these. Undefined if `fits` is true, or if none of them fits.
   */
  readonly suggestion: Smaller | undefined
}
