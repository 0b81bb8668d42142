// The table of encodings: layout, ops and sizes of matrices in linear memory.
import { ABI } from './constants.ts'
import type { OpName } from './ops.ts'

/**
 * The pattern in which a sparse matrix keeps or drops weights. `sb84`: blocks of 8 outputs x 4 inputs.
 * `sv32`: one input of 32 outputs. `sp24`: 2 of 4 inputs, in 8 bits only.
 */
export type SparseFormat = 'sb84' | 'sv32' | 'sp24'
/** The encoding of the weights that are not dropped. */
export type SparseBase = 'w4_g32' | 'w8_g32'

/**
 * One encoding. A float encoding has `elementBytes`, a dense quantised one has `blockBytes`, and a sparse one
 * has `base` and `format`.
 */
interface EncodingEntry {
  /** `enum encoding`. */
  readonly code: number
  /** Bytes per weight. */
  readonly elementBytes?: number
  /** Bytes per 8 outputs x 32 inputs. */
  readonly blockBytes?: number
  /** Bytes at the start of a panel, before its blocks. Default 0. */
  readonly headBytes?: number
  /** Bytes before each run of `RUN_GROUPS` blocks, and before a shorter last run. Default 0. */
  readonly runBytes?: number
  /** The op reads int8 rows with one scale per row. Default: one per group. */
  readonly whole?: true
  readonly base?: SparseBase
  readonly format?: SparseFormat
  /** The op that multiplies by a matrix in this encoding. */
  readonly linear: OpName
  /** The op that multiplies by the gate and up matrices together. */
  readonly gated?: OpName
}

const sparse = <B extends SparseBase, F extends SparseFormat>(code: number, base: B, format: F) =>
  ({ code, base, format, linear: 'linear_sparse', gated: 'linear_swiglu_sparse' }) as const

/** All encodings. wasm/core/abi.h shows the layout of each. */
export const ENCODINGS = {
  f32: { code: 0, elementBytes: 4, linear: 'linear_f32' },
  f16: { code: 1, elementBytes: 2, linear: 'linear_f16' },
  bf16: { code: 2, elementBytes: 2, linear: 'linear_bf16' },
  w8_g32: { code: 3, blockBytes: 272, linear: 'linear_w8a8_g32', gated: 'linear_swiglu_w8a8_g32' },
  w4_g32: { code: 4, blockBytes: 144, linear: 'linear_w4a8_g32', gated: 'linear_swiglu_w4a8_g32' },
  w4m_g32: { code: 5, blockBytes: 160, linear: 'linear_w4ma8_g32', gated: 'linear_swiglu_w4ma8_g32' },
  w4_g32_sb84: sparse(6, 'w4_g32', 'sb84'),
  w8_g32_sb84: sparse(7, 'w8_g32', 'sb84'),
  w4_g32_sv32: sparse(8, 'w4_g32', 'sv32'),
  w8_g32_sv32: sparse(9, 'w8_g32', 'sv32'),
  w8_g32_sp24: sparse(10, 'w8_g32', 'sp24'),
  w4_channel: { code: 11, blockBytes: 128, headBytes: 16, whole: true, linear: 'linear_w4a8_channel' },
  w2_g256: { code: 12, blockBytes: 64, runBytes: 16, whole: true, linear: 'linear_w2a8_g256' },
} as const satisfies Readonly<Record<string, EncodingEntry>>

/** The layout of a matrix in linear memory. */
export type PackedEncoding = keyof typeof ENCODINGS
/** Encodings that store strips of 32 outputs and omit zero weights. */
export type SparseEncoding = Extract<PackedEncoding, `${SparseBase}_${SparseFormat}`>
/** Encodings that store panels. */
export type Encoding = Exclude<PackedEncoding, SparseEncoding>

/** Weights along K that share one scale. */
export const GROUP_SIZE = ABI.GROUP
/** Groups of `w2_g256` that share one scale. */
export const RUN_GROUPS = 8
/** Output rows interleaved in one panel. */
export const PANEL_ROWS = ABI.PANEL
/** Outputs are padded to a multiple of this with zero rows. */
export const ROW_PADDING = ABI.GROUP

export const roundUp = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple

/** Bytes of a row of f32, padded with zeros to a whole group. */
export const floatStride = (width: number): number => roundUp(width, GROUP_SIZE) * 4

/** Bytes of a row of int8 codes, scales and sums. */
export function a8Stride(width: number): number {
  const codes = roundUp(width, GROUP_SIZE)
  return roundUp(codes + 8 * (codes / GROUP_SIZE), 16)
}

const entryOf = (encoding: PackedEncoding): EncodingEntry => ENCODINGS[encoding]

/** True if the kernels of this encoding read int8 activations instead of f32. */
export function isQuantized(
  encoding: PackedEncoding,
): encoding is Exclude<PackedEncoding, 'f32' | 'f16' | 'bf16'> {
  return entryOf(encoding).elementBytes === undefined
}

/** Bytes of one panel of 8 rows with `k` inputs. With k = 0: the bytes before the first input. */
export function panelBytes(encoding: Encoding, k: number): number {
  const { elementBytes, blockBytes = 0, headBytes = 0, runBytes = 0 } = entryOf(encoding)
  if (elementBytes !== undefined) return k * PANEL_ROWS * elementBytes
  const groups = Math.ceil(k / GROUP_SIZE)
  return groups * blockBytes + Math.ceil(groups / RUN_GROUPS) * runBytes + headBytes
}

/**
 * A matrix can be split only at multiples of this many inputs, because the inputs in between share a scale.
 */
export const columnUnit = (encoding: PackedEncoding): number =>
  entryOf(encoding).runBytes === undefined ? GROUP_SIZE : GROUP_SIZE * RUN_GROUPS

/** True if this encoding's kernels read int8 rows with one scale per row. */
export const readsWholeRows = (encoding: PackedEncoding): boolean => entryOf(encoding).whole === true

/** True if one op can multiply by the gate and up matrices in this encoding. */
export const isGated = (encoding: PackedEncoding): boolean => entryOf(encoding).gated !== undefined

/** Bytes of an [n, k] matrix in linear memory, padding rows included. */
export function matrixBytes(encoding: Encoding, n: number, k: number): number {
  return (roundUp(n, ROW_PADDING) / PANEL_ROWS) * panelBytes(encoding, k)
}

export function isSparse(encoding: PackedEncoding): encoding is SparseEncoding {
  return entryOf(encoding).format !== undefined
}

/** The base encoding and the sparse format of a sparse encoding. */
export const sparseParts = (
  encoding: SparseEncoding,
): { readonly base: SparseBase; readonly format: SparseFormat } => ENCODINGS[encoding]

/** The sparse encodings that the kernels support for these weights. */
export const sparseEncodings = (base: SparseBase): readonly SparseEncoding[] =>
  (Object.keys(ENCODINGS) as PackedEncoding[])
    .filter(isSparse)
    .filter((encoding) => sparseParts(encoding).base === base)

/** The encoding with groups of 32 that replaces this one where only groups of 32 are supported. */
export function groupEncoding(encoding: PackedEncoding): Encoding {
  if (encoding === 'w4_channel' || encoding === 'w2_g256') return 'w4_g32'
  return isSparse(encoding) ? ENCODINGS[encoding].base : encoding
}

/** Bytes of the table before the strips of `n` outputs, padded to align the first strip. */
export const sparseTableBytes = (n: number): number => roundUp((Math.ceil(n / ROW_PADDING) + 1) * 4, 64)
