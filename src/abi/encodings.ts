// Encodings. In: an encoding's name, a matrix's shape. Out: its entry in the one table of encodings, its bytes, where its rows lie.
import { ABI } from './constants.ts'
import type { OpName } from './ops.ts'

/** Which weights are kept and dropped together: blocks of 8 outputs x 4 inputs, an input of 32 outputs, 2 of 4 inputs, any. */
export type SparseFormat = 'sb84' | 'sv32' | 'sp24' | 'ls16'
/** The encoding of the weights that a sparse format keeps. */
export type SparseBase = 'w4_g32' | 'w8_g32'

/** One encoding. A float encoding has `elementBytes`, a dense quantised one `blockBytes`, a sparse one `base` and `format`. */
export interface EncodingEntry {
  /** `enum encoding`. */
  readonly code: number
  /** Bytes of one weight. */
  readonly elementBytes?: number
  /** Bytes of 8 outputs x 32 inputs. */
  readonly blockBytes?: number
  /** Bytes of a panel before its blocks. Default 0. */
  readonly headBytes?: number
  readonly base?: SparseBase
  readonly format?: SparseFormat
  /** The op that multiplies by such a matrix. */
  readonly linear: OpName
  /** The op that multiplies by the matrices of a gate and its up side at once. */
  readonly gated?: OpName
}

const sparse = <B extends SparseBase, F extends SparseFormat>(code: number, base: B, format: F) =>
  ({ code, base, format, linear: 'linear_sparse', gated: 'linear_swiglu_sparse' }) as const

/** wasm/core/abi.h draws the layout of each. */
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
  w4_g32_sp24: sparse(10, 'w4_g32', 'sp24'),
  w8_g32_sp24: sparse(11, 'w8_g32', 'sp24'),
  w4_g32_ls16: sparse(12, 'w4_g32', 'ls16'),
  w8_g32_ls16: sparse(13, 'w8_g32', 'ls16'),
  w4_channel: { code: 14, blockBytes: 128, headBytes: 16, linear: 'linear_w4a8_channel' },
} as const satisfies Readonly<Record<string, EncodingEntry>>

/** How a matrix lies in linear memory. */
export type PackedEncoding = keyof typeof ENCODINGS
/** Strips of 32 outputs without the weights that are zero. */
export type SparseEncoding = `${SparseBase}_${SparseFormat}`
/** Those that lie in panels. */
export type Encoding = Exclude<PackedEncoding, SparseEncoding>

/** Weights along K that share one scale. */
export const GROUP_SIZE = ABI.GROUP
/** Output rows that a panel interleaves. */
export const PANEL_ROWS = ABI.PANEL
/** Outputs are padded to a multiple of this with zero rows. */
export const ROW_PADDING = ABI.GROUP

export const roundUp = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple

const entryOf = (encoding: PackedEncoding): EncodingEntry => ENCODINGS[encoding]

/** True when the kernels of this encoding read int8 activations instead of f32. */
export function isQuantized(
  encoding: PackedEncoding,
): encoding is Exclude<PackedEncoding, 'f32' | 'f16' | 'bf16'> {
  return entryOf(encoding).elementBytes === undefined
}

/** Bytes of one panel of 8 rows with `k` inputs; with none, those that come before the inputs. */
export function panelBytes(encoding: Encoding, k: number): number {
  const { elementBytes, blockBytes = 0, headBytes = 0 } = entryOf(encoding)
  return elementBytes === undefined
    ? Math.ceil(k / GROUP_SIZE) * blockBytes + headBytes
    : k * PANEL_ROWS * elementBytes
}

/** Bytes of an [n, k] matrix in linear memory, padding rows included. */
export function matrixBytes(encoding: Encoding, n: number, k: number): number {
  return (roundUp(n, ROW_PADDING) / PANEL_ROWS) * panelBytes(encoding, k)
}

export function isSparse(encoding: PackedEncoding): encoding is SparseEncoding {
  return entryOf(encoding).format !== undefined
}

/** What a sparse encoding is made of. */
export const sparseParts = (
  encoding: SparseEncoding,
): { readonly base: SparseBase; readonly format: SparseFormat } => ENCODINGS[encoding]

/** The encoding in groups of 32 that an encoding stands in for where only such are read. */
export function groupEncoding(encoding: PackedEncoding): Encoding {
  if (encoding === 'w4_channel') return 'w4_g32'
  return isSparse(encoding) ? ENCODINGS[encoding].base : encoding
}

/** Bytes of the table before the strips of `n` outputs, padded for the first strip. */
export const sparseTableBytes = (n: number): number => roundUp((Math.ceil(n / ROW_PADDING) + 1) * 4, 64)
