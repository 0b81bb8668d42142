// Fills a slot of linear memory with weights, a slab at a time.

import {
  isSparse,
  matrixBytes,
  type PackedEncoding,
  ROW_PADDING,
  type SparseEncoding,
  sparseTableBytes,
} from '../abi/encodings.ts'
import { readInto } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { shown } from '../formats/malformed.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import { checkMatrix, readPart, type StreamOptions, type StreamPart } from './part.ts'
import { moveRows, rowSlabs, SLAB_BYTES } from './slabs.ts'
import { readStripTable, stripRuns, stripTable } from './sparse/matrix.ts'

/** The slot's bytes. Called again before every write, because memory may have grown in between. */
type SlotView = () => Uint8Array

/**
 * Fills a slot, 64-byte aligned, in which the parts are stacked, each padded to 32 rows. A pack's tensors are
 * copied if they have the slot's encoding; if that is sparse, they must have it. Throws `architecture` if a
 * tensor is not [n, k], `format` for weights that the encoding cannot represent, the signal's reason if
 * aborted.
 */
export async function streamMatrix(
  parts: readonly StreamPart[],
  k: number,
  encoding: PackedEncoding,
  view: SlotView,
  options: StreamOptions = {},
): Promise<void> {
  for (const part of parts) checkMatrix(part, k)
  if (isSparse(encoding)) return streamStrips(parts, encoding, view, options)
  let at = 0
  for (const part of parts) {
    if (!(await moveRows(part, k, encoding, view, at, options))) {
      // Other threads do not wait for what this one does alone.
      options.mover?.settle()
      if (part.tensor.packed === encoding) await copyPart(part.tensor, view, at, options)
      else {
        for await (const { write, offset, bytes } of rowSlabs(part, k, encoding, options)) {
          write(view().subarray(at + offset, at + offset + bytes))
        }
      }
    }
    at += matrixBytes(encoding, part.n, k)
  }
}

/** Copies a part directly from the file to its place. */
async function copyPart(
  { source, offset, byteLength }: TensorInfo,
  view: SlotView,
  at: number,
  { signal, onBytes }: StreamOptions,
): Promise<void> {
  for (let done = 0; done < byteLength; done += SLAB_BYTES) {
    const count = Math.min(SLAB_BYTES, byteLength - done)
    await readInto(source, view().subarray(at + done, at + done + count), offset + done, signal)
    signal?.throwIfAborted()
    onBytes?.(count)
  }
}

/** One table for the strips of all parts, then the strips. */
async function streamStrips(
  parts: readonly StreamPart[],
  encoding: SparseEncoding,
  view: SlotView,
  options: StreamOptions,
): Promise<void> {
  options.mover?.settle()
  const sizes: number[] = []
  const tables: Uint32Array[] = []
  for (const { tensor } of parts) {
    if (tensor.packed !== encoding) {
      throw new HalfbyteError(
        'internal',
        `${shown(tensor.name)} is not stored as ${encoding}; make the pack with halfbyte convert`,
      )
    }
    const table = await readStripTable(tensor, options.signal)
    tables.push(table)
    for (let strip = 1; strip < table.length; strip++) sizes.push(table[strip]! - table[strip - 1]!)
  }
  const table = stripTable(sizes, sizes.length * ROW_PADDING)
  view().set(table, 0)
  let at = table.byteLength
  for (const [index, { tensor, n }] of parts.entries()) {
    options.onBytes?.(sparseTableBytes(n))
    for await (const { bytes } of stripRuns(tensor, encoding, 'copy', options.signal, tables[index])) {
      options.signal?.throwIfAborted()
      view().set(bytes, at)
      at += bytes.byteLength
      options.onBytes?.(bytes.byteLength)
    }
  }
}

/** Fills a slot of vectors (norm weights, biases) as f32, each padded with zeros to a multiple of 32. */
export async function streamVector(
  parts: readonly StreamPart[],
  view: SlotView,
  options: StreamOptions = {},
): Promise<void> {
  options.mover?.settle()
  let at = 0
  for (const part of parts) {
    const values = await readPart(part, options)
    const bytes = matrixBytes('f32', part.n, 1)
    const target = view().subarray(at, at + bytes)
    target.fill(0)
    target.set(new Uint8Array(values.buffer))
    at += bytes
    options.onBytes?.(part.tensor.byteLength)
  }
}
