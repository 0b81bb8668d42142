// Reads a stored tensor as rows in kernel layout, a few MB at a time.

import {
  type Encoding,
  isSparse,
  matrixBytes,
  PANEL_ROWS,
  panelBytes,
  ROW_PADDING,
  roundUp,
  type SparseEncoding,
  sparseParts,
  sparseTableBytes,
} from '../abi/encodings.ts'
import { readInto, release } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Coding } from '../formats/coded-group.ts'
import { changeValues } from '../formats/dequantize.ts'
import { rowBytes, type StoredRows, storedRows } from '../formats/dtypes.ts'
import { shown } from '../formats/malformed.ts'
import type { DType, TensorInfo, ValueChange } from '../formats/tensors.ts'
import { PACKINGS, packerOf } from './choose-encoding.ts'
import { checkMatrix, type StreamOptions, type StreamPart } from './part.ts'
import { densePanels, stripRuns } from './sparse/matrix.ts'
import { unpackPanels } from './unpack.ts'

/** Rows of a tensor. `target` has space for them in whole panels of 8. */
interface PackJob {
  readonly dtype: DType
  /** For rows in coded groups. */
  readonly coding?: Coding | undefined
  readonly encoding: Encoding
  /** Elements per row. */
  readonly k: number
  /** Number of rows in `source`. `target` may have more; the rest become zero rows. */
  readonly rows: number
  readonly source: Uint8Array
  /** Whole panels, aligned to 4 bytes. */
  readonly target: Uint8Array
}

/**
 * Moves codes and scales into an encoding that can represent them, or converts the values: see `PACKINGS`.
 * Throws `format` for weights or scales that the encoding cannot represent.
 */
export function packRows(job: PackJob): void {
  const { dtype, coding, encoding, k, source, target } = job
  const panel = panelBytes(encoding, k)
  const whole = Math.floor(job.rows / PANEL_ROWS)
  const panels = target.byteLength / panel
  if (whole > 0) {
    packPanels(storedRows(dtype, source, coding), encoding, k, whole, target.subarray(0, whole * panel))
  }
  if (panels === whole) return
  const rest = new Uint8Array((panels - whole) * PANEL_ROWS * rowBytes(dtype, k))
  PACKINGS[dtype].clear?.(rest)
  rest.set(source.subarray(whole * PANEL_ROWS * rowBytes(dtype, k), job.rows * rowBytes(dtype, k)))
  packPanels(storedRows(dtype, rest, coding), encoding, k, panels - whole, target.subarray(whole * panel))
}

function packPanels(
  rows: StoredRows,
  encoding: Encoding,
  k: number,
  panels: number,
  { buffer, byteOffset, byteLength }: Uint8Array,
): void {
  packerOf(rows.dtype, encoding)(rows, panels * PANEL_ROWS, k, {
    u16: new Uint16Array(buffer, byteOffset, byteLength / 2),
    u32: new Uint32Array(buffer, byteOffset, byteLength / 4),
    f32: new Float32Array(buffer, byteOffset, byteLength / 4),
  })
}

/** Two slabs are in memory at once, one being packed and the next being read: together at most 16 MB. */
export const SLAB_BYTES = 8 << 20

/**
 * Rows that have been read: `write` writes them as `bytes` bytes, which belong at `offset` of the part. Call
 * it before requesting the next slab, which may reuse their memory.
 */
interface RowSlab {
  readonly write: (target: Uint8Array) => void
  readonly offset: number
  readonly bytes: number
  /** The rows as a pack stores them, if it stores strips. */
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

/**
 * Fills the part's panels, which begin at `at` of the slot, with the options' mover. Resolves to false, and
 * does nothing, if there is none or it cannot move these rows.
 */
export async function moveRows(
  { tensor, n }: StreamPart,
  k: number,
  encoding: Encoding,
  view: () => Uint8Array,
  at: number,
  { mover, signal, onBytes }: StreamOptions,
): Promise<boolean> {
  const { dtype, packed, change, source, offset } = tensor
  const isPlain = packed === undefined && change === undefined && n % ROW_PADDING === 0
  if (!isPlain || !mover?.can(dtype, encoding)) return false
  const stored = rowBytes(dtype, k)
  const panels = Math.floor(mover.bytes / (PANEL_ROWS * stored))
  if (panels === 0) return false
  const panel = panelBytes(encoding, k)
  for (let row = 0; row < n; row += panels * PANEL_ROWS) {
    const rows = Math.min(panels * PANEL_ROWS, n - row)
    const begin = at + (row / PANEL_ROWS) * panel
    const target = () => view().subarray(begin, begin + (rows / PANEL_ROWS) * panel)
    const pack = (bytes: Uint8Array) =>
      writeSlab({ tensor, packed, encoding, k, count: rows }, bytes, target())
    const moved = { dtype, encoding, k, rows, source, offset: offset + row * stored, length: rows * stored }
    await mover.move({ ...moved, target: target(), pack }, signal)
    signal?.throwIfAborted()
    onBytes?.(rows * stored)
  }
  return true
}

/** The weights of a pack's strips, including zeros. */
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

/** Reads one slab ahead, so that reading and packing overlap. */
async function* slabsOfRows(
  { tensor, n }: StreamPart,
  k: number,
  packed: Encoding | undefined,
  encoding: Encoding,
  options: StreamOptions,
): AsyncGenerator<RowSlab> {
  // A pack's tensor that must change its encoding is converted through f32.
  const widest = packed !== undefined && packed !== encoding ? 4 * k : 0
  const stored = packed === undefined ? rowBytes(tensor.dtype, k) : panelBytes(packed, k) / PANEL_ROWS
  const rows = slabRows(tensor, Math.max(stored, widest))
  const stop = packed === undefined ? n : roundUp(n, ROW_PADDING)
  const { source: file, offset } = tensor
  // Slabs alternate between two arrays, if the file can fill them.
  const arrays: Uint8Array[] = []
  const fill = async (row: number, length: number): Promise<Uint8Array> => {
    const turn = (row / rows) % 2
    arrays[turn] ??= new Uint8Array(length)
    const slab = arrays[turn].subarray(0, length)
    await readInto(file, slab, offset + row * stored, options.signal)
    return slab
  }
  const read = (row: number): Promise<Uint8Array> => {
    const length = (Math.min(row + rows, stop) - row) * stored
    const bytes =
      file.readInto === undefined
        ? file.read(offset + row * stored, length, options.signal)
        : fill(row, length)
    // If the reader stops early, nobody awaits this promise, and its rejection must not count as unhandled.
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
  for (const array of arrays) release(array)
}

interface SlabRows {
  readonly tensor: TensorInfo
  readonly packed: Encoding | undefined
  readonly encoding: Encoding
  readonly k: number
  /** Number of rows without padding. */
  readonly count: number
}

function writeSlab(
  { tensor, packed, encoding, k, count: rows }: SlabRows,
  source: Uint8Array,
  target: Uint8Array,
): void {
  const { dtype, coding } = tensor
  if (packed === encoding) {
    target.set(source)
    return
  }
  try {
    if (packed === undefined) {
      packRows({ dtype, coding, encoding, k, rows, source, target })
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

/** Padding rows are changed too, but nothing reads them. */
function changeTarget({ buffer, byteOffset, byteLength }: Uint8Array, change: ValueChange): void {
  changeValues(new Float32Array(buffer, byteOffset, byteLength / 4), change)
}

/** Rows per slab: whole groups of 32 rows, or one panel if even those are too long. */
function slabRows(tensor: TensorInfo, bytesPerRow: number): number {
  const rows = Math.floor(SLAB_BYTES / bytesPerRow)
  if (rows >= ROW_PADDING) return rows - (rows % ROW_PADDING)
  // The padding of a part's last rows is packed with them, so slabs may be twice as large in order to contain
  // whole groups of 32 rows.
  if (bytesPerRow * ROW_PADDING <= 2 * SLAB_BYTES) return ROW_PADDING
  throw new HalfbyteError(
    'unsupported',
    `${shown(tensor.name)} has rows of ${bytesPerRow} bytes, but Halfbyte supports rows of up to ${(2 * SLAB_BYTES) / ROW_PADDING}`,
    { tensor: tensor.name, rowBytes: bytesPerRow },
  )
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
