// Float panels. In: stored rows, a multiple of 8. Out: [panel][k][8] of f32 or of the file's own 16-bit
// elements.
import { dequantize } from '../../formats/dequantize.ts'
import type { StoredRows } from '../../formats/stored-rows.ts'

/** Makes f16 and bf16 panels. Elements are moved, never converted. */
export function packHalves(rows: StoredRows, count: number, k: number, out: Uint16Array): void {
  const { u16 } = rows
  for (let n = 0; n < count; n += 8) {
    let to = n * k
    for (let from = n * k; from < n * k + k; from++, to += 8) {
      out[to] = u16[from]!
      out[to + 1] = u16[from + k]!
      out[to + 2] = u16[from + 2 * k]!
      out[to + 3] = u16[from + 3 * k]!
      out[to + 4] = u16[from + 4 * k]!
      out[to + 5] = u16[from + 5 * k]!
      out[to + 6] = u16[from + 6 * k]!
      out[to + 7] = u16[from + 7 * k]!
    }
  }
}

/** Makes f32 panels from any dtype. */
export function packFloats(rows: StoredRows, count: number, k: number, out: Float32Array): void {
  const panel = rows.dtype === 'F32' ? rows.f32 : new Float32Array(8 * k)
  for (let n = 0; n < count; n += 8) {
    let start = n * k
    if (rows.dtype !== 'F32') {
      dequantize(rows, n * k, 8 * k, panel, 0)
      start = 0
    }
    let to = n * k
    for (let from = start; from < start + k; from++, to += 8) {
      out[to] = panel[from]!
      out[to + 1] = panel[from + k]!
      out[to + 2] = panel[from + 2 * k]!
      out[to + 3] = panel[from + 3 * k]!
      out[to + 4] = panel[from + 4 * k]!
      out[to + 5] = panel[from + 5 * k]!
      out[to + 6] = panel[from + 6 * k]!
      out[to + 7] = panel[from + 7 * k]!
    }
  }
}
