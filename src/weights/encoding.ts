// Encodings. In: an encoding's name and a matrix's shape. Out: its code, its bytes and where its rows lie.

import type { PackedEncoding, SparseBase, SparseEncoding, SparseFormat } from '../formats/tensors.ts'

/** What a weight in linear memory means that lies in panels; wasm/abi.h has the layout of each. */
export type Encoding = Exclude<PackedEncoding, SparseEncoding>

/** Numbers of `enum encoding` in wasm/abi.h. */
export const ENCODING_CODE: Readonly<Record<PackedEncoding, number>> = {
  f32: 0,
  f16: 1,
  bf16: 2,
  w8_g32: 3,
  w4_g32: 4,
  w4m_g32: 5,
  w4_g32_sb84: 6,
  w8_g32_sb84: 7,
  w4_g32_sv32: 8,
  w8_g32_sv32: 9,
  w4_g32_sp24: 10,
  w8_g32_sp24: 11,
  w4_g32_ls16: 12,
  w8_g32_ls16: 13,
  w4_channel: 14,
}

/** Weights along K that share one scale. */
export const GROUP_SIZE = 32
/** Output rows that a panel interleaves. */
export const PANEL_ROWS = 8
/** Outputs are padded to a multiple of this with zero rows. */
export const ROW_PADDING = 32

const BLOCK_BYTES = { w8_g32: 272, w4_g32: 144, w4m_g32: 160, w4_channel: 128 } as const
/** Scales of a panel whose rows have one each. */
const CHANNEL_BYTES = 16
const ELEMENT_BYTES = { f32: 4, f16: 2, bf16: 2 } as const

export const roundUp = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple

/** True when the kernels of this encoding read int8 activations instead of f32. */
export function isQuantized(
  encoding: PackedEncoding,
): encoding is Exclude<PackedEncoding, keyof typeof ELEMENT_BYTES> {
  return !Object.hasOwn(ELEMENT_BYTES, encoding)
}

/** Bytes of one panel of 8 rows with `k` inputs; with none, those that come before the inputs. */
export function panelBytes(encoding: Encoding, k: number): number {
  return isQuantized(encoding)
    ? Math.ceil(k / GROUP_SIZE) * BLOCK_BYTES[encoding] + (encoding === 'w4_channel' ? CHANNEL_BYTES : 0)
    : k * PANEL_ROWS * ELEMENT_BYTES[encoding]
}

/** Bytes of an [n, k] matrix in linear memory, padding rows included. */
export function matrixBytes(encoding: Encoding, n: number, k: number): number {
  return (roundUp(n, ROW_PADDING) / PANEL_ROWS) * panelBytes(encoding, k)
}

const SPARSE: Readonly<Record<SparseEncoding, { readonly base: SparseBase; readonly format: SparseFormat }>> =
  {
    w4_g32_sb84: { base: 'w4_g32', format: 'sb84' },
    w8_g32_sb84: { base: 'w8_g32', format: 'sb84' },
    w4_g32_sv32: { base: 'w4_g32', format: 'sv32' },
    w8_g32_sv32: { base: 'w8_g32', format: 'sv32' },
    w4_g32_sp24: { base: 'w4_g32', format: 'sp24' },
    w8_g32_sp24: { base: 'w8_g32', format: 'sp24' },
    w4_g32_ls16: { base: 'w4_g32', format: 'ls16' },
    w8_g32_ls16: { base: 'w8_g32', format: 'ls16' },
  }

export function isSparse(encoding: PackedEncoding): encoding is SparseEncoding {
  return Object.hasOwn(SPARSE, encoding)
}

/** What a sparse encoding is made of. */
export const sparseParts = (encoding: SparseEncoding) => SPARSE[encoding]

/** The encoding in groups of 32 that an encoding stands in for where only such are read. */
export function groupEncoding(encoding: PackedEncoding): Encoding {
  if (encoding === 'w4_channel') return 'w4_g32'
  return isSparse(encoding) ? SPARSE[encoding].base : encoding
}

/** Bytes of the table in front of the strips of `n` outputs, padded for the first strip. */
export const sparseTableBytes = (n: number): number => roundUp((Math.ceil(n / ROW_PADDING) + 1) * 4, 64)
