// The formats that a solver can choose codes for, and a matrix of codes with its scales.

import { GROUP_SIZE, roundUp } from '../../../core/abi/encodings.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { halfTable } from '../../../core/base/half.ts'
import { SCALE_FACTOR } from '../../../core/weights/quantize-weights.ts'

/** The encodings that consist of codes. A weight is `scale * (code - zero)`, or `scale * code + minimum`. */
export type Format = 'w4_g32' | 'w4m_g32' | 'w8_g32' | 'w4_channel'

/**
 * Formats without kernels, by bits and inputs per group. Solvers support them so that they can be measured.
 */
type TrialFormat = 'w4_g64' | 'w4_g128' | `w${2 | 3}_g${32 | 64 | 128}`

/** A format that a solver can choose codes for. */
export type GridFormat = Format | TrialFormat

export interface Codes {
  readonly least: number
  readonly most: number
  /** The code of a zero weight if there is no minimum. */
  readonly zero: number
  /** Inputs that share a scale. Default: all. */
  readonly group?: number
}

const signed = (bits: number, group?: number): Codes => ({
  least: 0,
  most: 2 ** bits - 1,
  zero: 2 ** (bits - 1),
  ...(group !== undefined && { group }),
})

/** A format's codes and groups. */
export const CODES: Readonly<Record<GridFormat, Codes>> = {
  w4_g32: signed(4, GROUP_SIZE),
  w4m_g32: { least: 0, most: 15, zero: 0, group: GROUP_SIZE },
  w8_g32: { least: 1, most: 255, zero: 128, group: GROUP_SIZE },
  w4_channel: signed(4),
  w4_g64: signed(4, 64),
  w4_g128: signed(4, 128),
  w3_g32: signed(3, 32),
  w3_g64: signed(3, 64),
  w3_g128: signed(3, 128),
  w2_g32: signed(2, 32),
  w2_g64: signed(2, 64),
  w2_g128: signed(2, 128),
}

/** Inputs of the largest group, unless it is a whole row. */
export const LARGEST_GROUP = 128

/** An [n, k] matrix. The last group of a row is shorter if k is not a multiple of the group's size. */
export interface CodedMatrix<F extends GridFormat = Format> {
  readonly format: F
  readonly n: number
  readonly k: number
  /** [n][k] */
  readonly codes: Uint8Array
  /** f16 patterns of 2^8 times each scale: [n][groups]. */
  readonly scales: Uint16Array
  /** The same for the minimums; `w4m_g32` only. */
  readonly minimums?: Uint16Array | undefined
  /** The end of each group. Default: the format's groups. */
  readonly ends?: Uint32Array | undefined
}

/** Inputs that share a scale. */
export const groupSize = (format: GridFormat, k: number): number =>
  CODES[format].group ?? roundUp(k, GROUP_SIZE)

export const groupCount = (format: GridFormat, k: number): number => Math.ceil(k / groupSize(format, k))

/** The groups of a row, some of which may be empty. */
export interface Groups {
  /** The end of each. */
  readonly ends: Uint32Array
  /** The index of each input's group. */
  readonly of: Uint32Array
}

export function groupsOf({
  format,
  k,
  ends,
}: Pick<CodedMatrix<GridFormat>, 'format' | 'k' | 'ends'>): Groups {
  const size = groupSize(format, k)
  const own =
    ends ?? Uint32Array.from({ length: groupCount(format, k) }, (_, group) => Math.min(k, (group + 1) * size))
  const of = new Uint32Array(k)
  for (let group = 0; group < own.length; group++) of.fill(group, own[group - 1] ?? 0, own[group])
  return { ends: own, of }
}

/** A matrix without codes yet. */
export function emptyMatrix<F extends GridFormat>(
  format: F,
  n: number,
  k: number,
  ends?: Uint32Array,
): CodedMatrix<F> {
  const groups = n * (ends?.length ?? groupCount(format, k))
  return {
    format,
    n,
    k,
    ends,
    codes: new Uint8Array(n * k),
    scales: new Uint16Array(groups),
    minimums: format === 'w4m_g32' ? new Uint16Array(groups) : undefined,
  }
}

/** The exact weights that the codes represent, [n][k]. */
export function decode({ format, n, k, codes, scales, minimums }: CodedMatrix<GridFormat>): Float64Array {
  const half = halfTable()
  const size = groupSize(format, k)
  const groups = groupCount(format, k)
  const { zero } = CODES[format]
  const values = new Float64Array(n * k)
  for (let row = 0; row < n; row++) {
    for (let i = 0; i < k; i++) {
      const group = row * groups + Math.floor(i / size)
      const scale = half[scales[group]!]! / SCALE_FACTOR
      const minimum = minimums === undefined ? 0 : half[minimums[group]!]! / SCALE_FACTOR
      values[row * k + i] = scale * (codes[row * k + i]! - zero) + minimum
    }
  }
  return values
}

/** Throws `format` if a weight is not finite, `internal` if there are not n * k of them. */
export function checkWeights(weights: ArrayLike<number>, n: number, k: number): void {
  if (weights.length !== n * k) {
    throw new HalfbyteError('internal', `${weights.length} weights were given for a matrix [${n}, ${k}]`)
  }
  for (let i = 0; i < weights.length; i++) {
    if (Number.isFinite(weights[i]!)) continue
    throw new HalfbyteError(
      'format',
      `the weight of output ${Math.floor(i / k)} and input ${i % k} is ${weights[i]}, which no quantised encoding can represent; the file is corrupt; download it again`,
      { output: Math.floor(i / k), input: i % k },
    )
  }
}
