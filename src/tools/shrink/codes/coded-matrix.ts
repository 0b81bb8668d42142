// The formats that a solver can choose codes for, and a matrix of codes with its scales.

import { GROUP_SIZE, roundUp } from '../../../core/abi/encodings.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { halfTable } from '../../../core/base/half.ts'
import { SCALE_FACTOR } from '../../../core/weights/quantize-weights.ts'

/** The encodings that consist of codes. A weight is `scale * (code - zero)`, or `scale * code + minimum`. */
export type Format = 'w4_g32' | 'w4m_g32' | 'w8_g32' | 'w4_channel'

/** A format's number of codes, and the code of a zero weight if there is no minimum. */
export const CODES: Readonly<
  Record<Format, { readonly least: number; readonly most: number; readonly zero: number }>
> = {
  w4_g32: { least: 0, most: 15, zero: 8 },
  w4m_g32: { least: 0, most: 15, zero: 0 },
  w8_g32: { least: 1, most: 255, zero: 128 },
  w4_channel: { least: 0, most: 15, zero: 8 },
}

/** An [n, k] matrix. The last group of a row is shorter if k is not a multiple of 32. */
export interface CodedMatrix {
  readonly format: Format
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
export const groupSize = (format: Format, k: number): number =>
  format === 'w4_channel' ? roundUp(k, GROUP_SIZE) : GROUP_SIZE

export const groupCount = (format: Format, k: number): number => Math.ceil(k / groupSize(format, k))

/** The groups of a row, some of which may be empty. */
export interface Groups {
  /** The end of each. */
  readonly ends: Uint32Array
  /** The index of each input's group. */
  readonly of: Uint32Array
}

export function groupsOf({ format, k, ends }: Pick<CodedMatrix, 'format' | 'k' | 'ends'>): Groups {
  const size = groupSize(format, k)
  const own =
    ends ?? Uint32Array.from({ length: groupCount(format, k) }, (_, group) => Math.min(k, (group + 1) * size))
  const of = new Uint32Array(k)
  for (let group = 0; group < own.length; group++) of.fill(group, own[group - 1] ?? 0, own[group])
  return { ends: own, of }
}

/** A matrix without codes yet. */
export function emptyMatrix(format: Format, n: number, k: number, ends?: Uint32Array): CodedMatrix {
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
export function decode({ format, n, k, codes, scales, minimums }: CodedMatrix): Float64Array {
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
