// Streaming weights. In: the tensors a slot is made of. Out: the slot in linear memory, filled a slab at a time.

import type { PackedEncoding, SparseEncoding } from '../abi/encodings.ts'
import {
  type Encoding,
  isSparse,
  matrixBytes,
  PANEL_ROWS,
  panelBytes,
  ROW_PADDING,
  roundUp,
  sparseParts,
  sparseTableBytes,
} from '../abi/encodings.ts'
import { readInto } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { BLOCKS, rowBytes } from '../formats/dtypes.ts'
import { changeValues, readVector } from '../formats/gguf/dequantize.ts'
import { malformed, shown } from '../formats/malformed.ts'
import type { TensorInfo, ValueChange } from '../formats/tensors.ts'
import { packRows } from './pack.ts'
import { densePanels, readStripTable, stripRuns, stripTable } from './sparse/matrix.ts'
import { unpackPanels } from './unpack.ts'

/** Two slabs are held at once, one being packed and the next being read: together at most 16 MB. */
const SLAB_BYTES = 8 << 20

/** One stored tensor and the outputs the graph expects of it. */
export interface StreamPart {
  readonly tensor: TensorInfo
  readonly n: number
}

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined
  /** Called with the bytes of the file that were consumed since the last call. */
  readonly onBytes?: ((bytes: number) => void) | undefined
}

/** The slot's bytes, asked for anew before every write because memory may have grown in between. */
export type SlotView = () => Uint8Array

/** Bytes of a slot whose parts are stacked, each padded to 32 rows. */
export function slotBytes(encoding: Encoding, parts: readonly { readonly n: number }[], k: number): number {
  return parts.reduce((sum, { n }) => sum + matrixBytes(encoding, n, k), 0)
}

/**
 * Fills a slot of `slotBytes(encoding, parts, k)` bytes, 64-byte aligned. A pack's tensors are copied when they
 * have the slot's encoding, and must have it when that is a sparse one. Throws `architecture` when a tensor is not [n, k], `format` for weights that the
 * encoding cannot hold, the signal's reason when aborted.
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
    if (part.tensor.packed === encoding) await copyPart(part.tensor, view, at, options)
    else {
      for await (const { write, offset, bytes } of rowSlabs(part, k, encoding, options)) {
        write(view().subarray(at + offset, at + offset + bytes))
      }
    }
    at += matrixBytes(encoding, part.n, k)
  }
}

/** From the file straight to its place. */
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
  const sizes: number[] = []
  const tables: Uint32Array[] = []
  for (const { tensor } of parts) {
    if (tensor.packed !== encoding) {
      throw new HalfbyteError(
        'internal',
        `${shown(tensor.name)} is not stored as ${encoding}, which is made by convert`,
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

/** The numbers of a vector. Throws `architecture` when there are not as many as the graph expects. */
export async function readPart({ tensor, n }: StreamPart, { signal }: StreamOptions): Promise<Float32Array> {
  const values = await readVector(tensor, signal)
  if (values.length !== n) throw wrongShape(tensor, `[${n}]`)
  return values
}

/** One tensor in kernel layout as chunks of at most about 8 MB, for writing a pack. */
export async function* packedChunks(
  tensor: TensorInfo,
  encoding: Encoding,
  options: StreamOptions = {},
): AsyncGenerator<Uint8Array> {
  const [n = 0, k = 0] = tensor.shape
  checkMatrix({ tensor, n }, k)
  for await (const { write, bytes } of rowSlabs({ tensor, n }, k, encoding, options)) {
    const chunk = new Uint8Array(bytes)
    write(chunk)
    yield chunk
  }
}

/** Some rows, read and waiting: `write` writes them as `bytes` bytes, which belong at `offset` of the part. */
export interface RowSlab {
  readonly write: (target: Uint8Array) => void
  readonly offset: number
  readonly bytes: number
  /** The same as a pack has them, when those are strips. */
  readonly strips?: Uint8Array
}

/** The rows of a part in order, in slabs of whole groups of 32 rows. */
export function rowSlabs(
  part: StreamPart,
  k: number,
  encoding: Encoding,
  options: StreamOptions,
): AsyncGenerator<RowSlab> {
  const { packed } = part.tensor
  return packed !== undefined && isSparse(packed)
    ? slabsOfStrips(part, k, packed, encoding, options)
    : slabsOfRows(part, k, packed, encoding, options)
}

/** The weights of a pack's strips, zeros and all. */
async function* slabsOfStrips(
  { tensor, n }: StreamPart,
  k: number,
  packed: SparseEncoding,
  encoding: Encoding,
  options: StreamOptions,
): AsyncGenerator<RowSlab> {
  const { base } = sparseParts(packed)
  options.onBytes?.(sparseTableBytes(n))
  for await (const run of stripRuns(tensor, packed, 'decode', options.signal)) {
    const row = run.first * ROW_PADDING
    const count = Math.min((run.offsets.length - 1) * ROW_PADDING, n - row)
    yield {
      write: (target) =>
        writeSlab({ tensor, packed: base, encoding, k, count }, densePanels(run, packed, k), target),
      offset: (row / PANEL_ROWS) * panelBytes(encoding, k),
      bytes: matrixBytes(encoding, count, k),
      strips: run.bytes,
    }
    options.onBytes?.(run.bytes.byteLength)
  }
}

/** Reads one slab ahead, so that the file and the packer work at the same time. */
async function* slabsOfRows(
  { tensor, n }: StreamPart,
  k: number,
  packed: Encoding | undefined,
  encoding: Encoding,
  options: StreamOptions,
): AsyncGenerator<RowSlab> {
  // A pack's tensor that must change its encoding passes through f32.
  const widest = packed !== undefined && packed !== encoding ? 4 * k : 0
  const stored = packed === undefined ? rowBytes(tensor.dtype, k) : panelBytes(packed, k) / PANEL_ROWS
  const rows = slabRows(tensor, Math.max(stored, widest))
  const read = (row: number): Promise<Uint8Array> => {
    const last =
      packed === undefined ? Math.min(row + rows, n) : Math.min(row + rows, roundUp(n, ROW_PADDING))
    const bytes = tensor.source.read(tensor.offset + row * stored, (last - row) * stored, options.signal)
    // When the reader leaves early nobody awaits this: it must not count as unhandled.
    bytes.catch(() => undefined)
    return bytes
  }
  let next = read(0)
  for (let row = 0; row < n; row += rows) {
    const source = await next
    options.signal?.throwIfAborted()
    if (row + rows < n) next = read(row + rows)
    const count = Math.min(rows, n - row)
    yield {
      write: (target) => writeSlab({ tensor, packed, encoding, k, count }, source, target),
      offset: (row / PANEL_ROWS) * panelBytes(encoding, k),
      bytes: matrixBytes(encoding, count, k),
    }
    options.onBytes?.(source.byteLength)
  }
}

interface SlabRows {
  readonly tensor: TensorInfo
  readonly packed: Encoding | undefined
  readonly encoding: Encoding
  readonly k: number
  /** Rows that exist. */
  readonly count: number
}

function writeSlab(
  { tensor, packed, encoding, k, count: rows }: SlabRows,
  source: Uint8Array,
  target: Uint8Array,
): void {
  const { dtype } = tensor
  if (packed === encoding) {
    target.set(source)
    return
  }
  try {
    if (packed === undefined) {
      packRows({ dtype, encoding, k, rows, source, target })
      if (tensor.change !== undefined) changeTarget(target, tensor.change)
    } else {
      const values = unpackPanels(packed, source, k)
      packRows({ dtype: 'F32', encoding, k, rows, source: new Uint8Array(values.buffer), target })
    }
  } catch (error) {
    if (error instanceof HalfbyteError && error.code === 'format') {
      const where = `${tensor.source.name}, ${shown(tensor.name)}`
      throw new HalfbyteError('format', `${where}: ${error.message}`, error.detail, { cause: error })
    }
    throw error
  }
}

/** Padding rows change too; nobody reads them. */
function changeTarget({ buffer, byteOffset, byteLength }: Uint8Array, change: ValueChange): void {
  changeValues(new Float32Array(buffer, byteOffset, byteLength / 4), change)
}

/** Rows of a slab: whole groups of 32 rows, or a panel where even those are too long. */
function slabRows(tensor: TensorInfo, bytesPerRow: number): number {
  const rows = Math.floor(SLAB_BYTES / bytesPerRow)
  if (rows >= ROW_PADDING) return rows - (rows % ROW_PADDING)
  // The padding of a part's last rows is laid with them, so slabs keep whole groups of 32 rows at twice the size.
  if (bytesPerRow * ROW_PADDING <= 2 * SLAB_BYTES) return ROW_PADDING
  throw new HalfbyteError(
    'unsupported',
    `${shown(tensor.name)} has rows of ${bytesPerRow} bytes and Halfbyte loads rows of up to ${(2 * SLAB_BYTES) / ROW_PADDING}`,
    { tensor: tensor.name, rowBytes: bytesPerRow },
  )
}

/** Throws `architecture` when a tensor is not [n, k], `format` when it has not the bytes for that. */
export function checkMatrix({ tensor, n }: StreamPart, k: number): void {
  const [rows, inputs, ...others] = tensor.shape
  if (rows !== n || inputs !== k || others.length > 0) throw wrongShape(tensor, `[${n}, ${k}]`)
  if (tensor.packed === undefined && k % BLOCKS[tensor.dtype].elements !== 0)
    throw wrongShape(tensor, `rows of 32`)
  const { packed } = tensor
  // The table of a sparse tensor says how long it is, and is checked when it is read.
  if (packed === undefined || isSparse(packed)) return
  if (tensor.byteLength !== matrixBytes(packed, n, k)) {
    throw malformed(
      tensor.source.name,
      `${shown(tensor.name)} has ${tensor.byteLength} bytes where ${packed} takes ${matrixBytes(packed, n, k)}`,
    )
  }
}

function wrongShape(tensor: TensorInfo, expected: string): HalfbyteError {
  return new HalfbyteError(
    'architecture',
    `${shown(tensor.name)} has the shape [${tensor.shape}] where the model's configuration makes it ${expected}; ` +
      'the file and its configuration are of different models',
    { tensor: tensor.name, shape: tensor.shape.map(String), expected },
  )
}
