// Stored rows. In: the bytes of some rows of a tensor. Out: every typed view of them that a reader needs.
import type { DType } from './tensors.ts'

/** Stored bytes as typed views for the inner loops. They are made once, not per row. */
export interface StoredRows {
  readonly dtype: DType
  readonly u8: Uint8Array
  readonly i8: Int8Array
  readonly u16: Uint16Array
  readonly u32: Uint32Array
  readonly f32: Float32Array
}

/** Views of `bytes`, which are copied first when they do not begin at a multiple of 4. */
export function storedRows(dtype: DType, bytes: Uint8Array): StoredRows {
  const u8 = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice()
  const { buffer, byteOffset, byteLength } = u8
  return {
    dtype,
    u8,
    i8: new Int8Array(buffer, byteOffset, byteLength),
    u16: new Uint16Array(buffer, byteOffset, byteLength >>> 1),
    u32: new Uint32Array(buffer, byteOffset, byteLength >>> 2),
    f32: new Float32Array(buffer, byteOffset, byteLength >>> 2),
  }
}
