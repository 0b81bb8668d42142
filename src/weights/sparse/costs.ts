// Measured times. In: nothing. Out: nanoseconds of each kernel by the share of weights it keeps, and where they were taken.
//
// `node wasm/sparse-bench.mjs 40 --curves --kept 1,0.75,0.5,0.3,0.1` prints them: one token, one thread, weights from
// memory, 4864 x 896. Ratios carry over to other machines better than the times do.
import type { SparseBase, SparseFormat } from '../../formats/tensors.ts'

export const COSTS_MACHINE = 'an AMD EPYC (Zen 4, no AVX-VNNI)'

export type MeasuredBuild = 'relaxed' | 'simd128'

/** [share kept, ns per panel and group: 8 outputs x 32 inputs], by rising share. */
export type Curve = readonly (readonly [number, number])[]

export const DENSE_COST: Readonly<Record<MeasuredBuild, Readonly<Record<SparseBase, number>>>> = {
  relaxed: { w4_g32: 7.96, w8_g32: 20.35 },
  simd128: { w4_g32: 10.77, w8_g32: 16.95 },
}

export const SPARSE_COST: Readonly<
  Record<MeasuredBuild, Readonly<Record<SparseBase, Readonly<Record<SparseFormat, Curve>>>>>
> = {
  relaxed: {
    w4_g32: {
      sb84: [
        [0.1, 3.02],
        [0.3, 4.64],
        [0.5, 6.86],
        [0.75, 10.22],
        [1, 11.13],
      ],
      sv32: [
        [0.1, 4.08],
        [0.3, 5.07],
        [0.5, 6.17],
        [0.75, 7.31],
        [1, 8.25],
      ],
      sp24: [
        [0, 6.95],
        [1, 6.95],
      ],
      ls16: [
        [0.25, 8.17],
        [0.38, 9.39],
        [0.5, 11.64],
      ],
    },
    w8_g32: {
      sb84: [
        [0.1, 3.75],
        [0.3, 7.58],
        [0.5, 13.55],
        [0.75, 18.46],
        [1, 24.68],
      ],
      sv32: [
        [0.1, 5.58],
        [0.3, 7.67],
        [0.5, 9.68],
        [0.75, 13.22],
        [1, 16.85],
      ],
      sp24: [
        [0, 9.56],
        [1, 9.56],
      ],
      ls16: [
        [0.25, 10.28],
        [0.38, 13.68],
        [0.5, 16.05],
      ],
    },
  },
  simd128: {
    w4_g32: {
      sb84: [
        [0.1, 3.4],
        [0.3, 5.78],
        [0.5, 8.29],
        [0.75, 11.32],
        [1, 13.72],
      ],
      sv32: [
        [0.1, 4.86],
        [0.3, 7.09],
        [0.5, 8.58],
        [0.75, 10.85],
        [1, 11.98],
      ],
      sp24: [
        [0, 11.53],
        [1, 11.53],
      ],
      ls16: [
        [0.25, 7.96],
        [0.38, 9.8],
        [0.5, 11.72],
      ],
    },
    w8_g32: {
      sb84: [
        [0.1, 3.48],
        [0.3, 6.75],
        [0.5, 11.6],
        [0.75, 15.54],
        [1, 19.7],
      ],
      sv32: [
        [0.1, 4.83],
        [0.3, 6.62],
        [0.5, 8.55],
        [0.75, 11.28],
        [1, 13.35],
      ],
      sp24: [
        [0, 12.74],
        [1, 12.74],
      ],
      ls16: [
        [0.25, 8.5],
        [0.38, 11.72],
        [0.5, 15.77],
      ],
    },
  },
}
