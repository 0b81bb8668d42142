// Sparse slots. In: dense panels with zeros. Out: the same matrix in a sparse format, as it lies in memory.
import type { SparseBase, SparseFormat } from '../../abi/encodings.ts'
import { stripTable } from './matrix.ts'
import { denseStrip, stripBytes } from './panels.ts'
import { STRIP_WRITERS } from './writers.ts'

/** The slot of whole strips of dense panels. */
export function sparseSlot(
  base: SparseBase,
  format: SparseFormat,
  panels: Uint8Array,
  k: number,
): Uint8Array {
  const groups = Math.ceil(k / 32)
  const size = stripBytes(base, groups)
  const strips = Array.from({ length: panels.length / size }, (_, i) =>
    STRIP_WRITERS[format].encode(denseStrip(base, groups, panels.slice(i * size, (i + 1) * size))),
  )
  const table = stripTable(
    strips.map(({ length }) => length),
    strips.length * 32,
  )
  const slot = new Uint8Array(strips.reduce((sum, { length }) => sum + length, table.length))
  slot.set(table)
  let at = table.length
  for (const strip of strips) {
    slot.set(strip, at)
    at += strip.length
  }
  return slot
}
