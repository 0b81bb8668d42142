// Stored rows. In: the bytes of some rows of a tensor. Out: every typed view of them that a reader needs.
import type { Coding, RowViews } from './coded-group.ts'
import type { DType } from './tensors.ts'

/** Stored bytes as typed views for the inner loops. They are made once, not per row. */
export interface StoredRows extends RowViews {
  readonly dtype: DType
  /** Of rows in coded groups. */
  readonly coding: Coding | undefined
}

/** Views of `bytes`, which are copied first when they do not begin at a multiple of 4. */
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
