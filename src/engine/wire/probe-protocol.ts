// Probe protocol. In: nothing. Out: what a page hears of a model before it is loaded.
import type { KvFormat } from '../../graph/ir.ts'

/** Load options that make a model smaller; spread them over those it was asked about with. */
export interface Smaller {
  readonly contextLength?: number
  readonly kvCache?: KvFormat
  readonly weights?: 'w4'
}

/** What is known of a model before its weights are downloaded. */
export interface ProbeReport {
  /** Whether weights, activations and the state of a whole context have room. */
  readonly fits: boolean
  readonly neededBytes: number
  /** Most that this page may have, as far as asking for it tells; less than a load needed that was killed here. */
  readonly grantedBytes: number
  /** Tokens of the context that this is about. */
  readonly contextLength: number
  /** Bytes of weights that are not on this device yet. */
  readonly downloadBytes: number
  /** Estimates: from kernels run for a fifth of a second, and what the model's plan costs 512 tokens into a conversation. */
  readonly prefillTokensPerSecond: number
  readonly decodeTokensPerSecond: number
  /** What would fit instead: a smaller context, then int8 keys and values, then 4-bit weights, then these together. */
  readonly suggestion: Smaller | undefined
}
