// Built-in times: nanoseconds of each kernel by the share of kept weights, and where they were measured.
//
// `node wasm/tools/sparse-bench.mjs 40 --curves --kept 1,0.75,0.5,0.3,0.1` prints them: one token, one
// thread, weights from memory, 4864 x 896. Ratios transfer to other machines better than times.
import type { SparseBase, SparseEncoding } from '../../abi/encodings.ts'

export const COSTS_MACHINE = 'an AMD EPYC (Zen 4, no AVX-VNNI)'

export type MeasuredBuild = 'relaxed' | 'simd128'

/** [share kept, ns per panel and group: 8 outputs x 32 inputs], in order of the share. */
export type Curve = readonly (readonly [number, number])[]

export const DENSE_COST: Readonly<Record<MeasuredBuild, Readonly<Record<SparseBase, number>>>> = {
  relaxed: { w4_g32: 7.96, w8_g32: 20.35 },
  simd128: { w4_g32: 10.77, w8_g32: 16.95 },
}

export const SPARSE_COST: Readonly<Record<MeasuredBuild, Readonly<Record<SparseEncoding, Curve>>>> = {
  relaxed: {
    w4_g32_sb84: [
      [0.1, 2.43],
      [0.3, 3.99],
      [0.5, 5.5],
      [0.75, 7.61],
      [1, 9.26],
    ],
    w4_g32_sv32: [
      [0.1, 2.73],
      [0.3, 3.7],
      [0.5, 4.92],
      [0.75, 6.52],
      [1, 8.01],
    ],
    w8_g32_sb84: [
      [0.1, 3.09],
      [0.3, 6.17],
      [0.5, 10.44],
      [0.75, 14.69],
      [1, 18.82],
    ],
    w8_g32_sv32: [
      [0.1, 3.81],
      [0.3, 5.98],
      [0.5, 9.51],
      [0.75, 13.6],
      [1, 17.55],
    ],
    w8_g32_sp24: [
      [0, 9.56],
      [1, 9.56],
    ],
  },
  simd128: {
    w4_g32_sb84: [
      [0.1, 3.06],
      [0.3, 6.02],
      [0.5, 8.74],
      [0.75, 12.93],
      [1, 15.52],
    ],
    w4_g32_sv32: [
      [0.1, 3.54],
      [0.3, 5.42],
      [0.5, 7.17],
      [0.75, 9.78],
      [1, 11.01],
    ],
    w8_g32_sb84: [
      [0.1, 3.23],
      [0.3, 5.96],
      [0.5, 9.56],
      [0.75, 14.63],
      [1, 18.65],
    ],
    w8_g32_sv32: [
      [0.1, 3.69],
      [0.3, 6.49],
      [0.5, 10.15],
      [0.75, 15.47],
      [1, 18.92],
    ],
    w8_g32_sp24: [
      [0, 12.74],
      [1, 12.74],
    ],
  },
}
