import type { PrintedFunction } from './machine-code.mjs'

/** One inner loop: instructions of one iteration, excluding nested loops. */
export interface MainLoop {
  /** `linear w4`, `attention K` and so on. */
  readonly kernel: string
  /** Tokens, or queries, that share the loaded data. */
  readonly tokens: number
  /** Bytes of weights, keys or values that one iteration reads. */
  readonly bytes: number
  readonly instructions: number
  /** Instructions that compute on vectors or move data between them. */
  readonly vector: number
  readonly dots: number
  readonly multiplies: number
  readonly loads: number
  readonly splats: number
  readonly logic: number
  /** Vector loads from and stores to the stack frame. */
  readonly spills: number
  readonly scalarSpills: number
  /** Number of different vector registers used. */
  readonly registers: number
}
export function mainLoops(
  functions: readonly PrintedFunction[],
  arch: string,
  build: 'relaxed' | 'simd128',
): MainLoop[]
