// The dtypes of stored tensors: elements and bytes of their blocks, and typed views of stored rows.

import type { Coding, RowViews } from './coded-group.ts'
import { Q4_K } from './q4-k.ts'
import type { DType } from './tensors.ts'

/** Stored bytes as typed views for the inner loops, created once instead of per row. */
export interface StoredRows extends RowViews {
  readonly dtype: DType
  /** For rows in coded groups. */
  readonly coding: Coding | undefined
}

/** Views of `bytes`, which are copied first if they do not begin at a multiple of 4. */
export function storedRows(dtype: DType, bytes: Uint8Array, coding?: Coding): StoredRows {
  const u8 = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice()
  const { buffer, byteOffset, byteLength } = u8
  return {
    dtype,
    coding,
    u8,
    i8: new Int8Array(buffer, byteOffset, byteLength),
    u16: new Uint16Array(buffer, byteOffset, byteLength >>> 1),
    u32: new Uint32Array(buffer, byteOffset, byteLength >>> 2),
    f32: new Float32Array(buffer, byteOffset, byteLength >>> 2),
  }
}

/** Elements and bytes of a block, the smallest stored unit. Rows are a whole number of blocks. */
export const BLOCKS: Readonly<Record<DType, { readonly elements: number; readonly bytes: number }>> = {
  F32: { elements: 1, bytes: 4 },
  F16: { elements: 1, bytes: 2 },
  BF16: { elements: 1, bytes: 2 },
  /** f16 scale | i8 [32]                    W = scale * code */
  Q8_0: { elements: 32, bytes: 34 },
  /** f16 scale | u4 [16 low][16 high]       W = scale * (code - 8); byte j: inputs j and j + 16 */
  Q4_0: { elements: 32, bytes: 18 },
  /** f16 scale | f16 minimum | u4 as Q4_0   W = scale * code + minimum */
  Q4_1: { elements: 32, bytes: 20 },
  // gguf/group-readers.ts, gguf/iq-quants.ts and tq2.ts show the layouts of the others.
  Q8_1: { elements: 32, bytes: 36 },
  Q5_0: { elements: 32, bytes: 22 },
  Q5_1: { elements: 32, bytes: 24 },
  Q2_K: { elements: 256, bytes: 84 },
  Q3_K: { elements: 256, bytes: 110 },
  Q4_K,
  Q5_K: { elements: 256, bytes: 176 },
  Q6_K: { elements: 256, bytes: 210 },
  IQ1_S: { elements: 256, bytes: 50 },
  IQ1_M: { elements: 256, bytes: 56 },
  IQ2_XXS: { elements: 256, bytes: 66 },
  IQ2_XS: { elements: 256, bytes: 74 },
  IQ2_S: { elements: 256, bytes: 82 },
  IQ3_XXS: { elements: 256, bytes: 98 },
  IQ3_S: { elements: 256, bytes: 110 },
  IQ4_NL: { elements: 32, bytes: 18 },
  IQ4_XS: { elements: 256, bytes: 136 },
  Q1_0: { elements: 128, bytes: 18 },
  Q2_0: { elements: 64, bytes: 18 },
  TQ1_0: { elements: 256, bytes: 54 },
  TQ2_0: { elements: 256, bytes: 66 },
  MXFP4: { elements: 32, bytes: 17 },
  NVFP4: { elements: 64, bytes: 36 },
}

export const DTYPES = Object.keys(BLOCKS) as readonly DType[]

/** Bytes of a row of `k` elements; `k` is a multiple of the dtype's block. */
export function rowBytes(dtype: DType, k: number): number {
  return (k / BLOCKS[dtype].elements) * BLOCKS[dtype].bytes
}

/** Number of elements of the shape, or undefined if it is too large to be exact. */
export function elementCount(shape: readonly number[]): number | undefined {
  let count = 1
  for (const size of shape) {
    count *= size
    if (!Number.isSafeInteger(count)) return undefined
  }
  return count
}
