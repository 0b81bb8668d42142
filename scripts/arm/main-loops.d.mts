// In: main-loops.mjs. Out: its types, for the tests.
import type { PrintedFunction } from './machine-code.mjs'

/** One inner loop: instructions of one pass, without the loops inside it. */
export interface MainLoop {
  /** `linear w4`, `attention K` and so on. */
  readonly kernel: string
  /** Tokens, or queries, that share what is read. */
  readonly tokens: number
  /** Bytes of weights, keys or values that one pass reads. */
  readonly bytes: number
  readonly instructions: number
  /** Instructions that compute on vectors or move between them. */
  readonly vector: number
  readonly dots: number
  readonly multiplies: number
  readonly loads: number
  readonly splats: number
  readonly logic: number
  /** Vector loads from the frame and stores to it. */
  readonly spills: number
  readonly scalarSpills: number
  /** Different vector registers that are named. */
  readonly registers: number
}
export function mainLoops(
  functions: readonly PrintedFunction[],
  arch: string,
  build: 'relaxed' | 'simd128',
): MainLoop[]
