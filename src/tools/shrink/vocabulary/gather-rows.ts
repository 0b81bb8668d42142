// Takes rows of a matrix in its stored encoding. In: a tensor and row indices. Out: a tensor in memory whose
// rows have the same bits.

import {
  type Encoding,
  isSparse,
  PANEL_ROWS,
  panelBytes,
  ROW_PADDING,
  roundUp,
} from '../../../core/abi/encodings.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { emptyMatrix, type Format, groupCount } from '../codes/coded-matrix.ts'
import { layMatrix, unlayMatrix } from '../codes/lay.ts'

/** Number of rows read at once: whole panels, because computed tensors are read in panels. */
const SLAB = 2048

/** `rows` ascend. Throws `unsupported` for a matrix stored without its zeros, and what reading throws. */
export async function gatherRows(
  tensor: TensorInfo,
  rows: readonly number[],
  signal: AbortSignal,
): Promise<TensorInfo> {
  const { name, packed } = tensor
  if (packed === 'w2_g256') {
    throw new HalfbyteError(
      'unsupported',
      `${name} has 2 bits per weight, which tables of tokens do not support`,
    )
  }
  if (packed !== undefined && isSparse(packed)) {
    throw new HalfbyteError(
      'unsupported',
      `${name} is stored without its zeros (${packed}), so single rows cannot be read; trim the model before it is pruned`,
    )
  }
  const bytes =
    packed === undefined
      ? await gatherStored(tensor, rows, signal)
      : packed === 'f32' || packed === 'f16' || packed === 'bf16'
        ? await gatherFloats(tensor, packed, rows, signal)
        : await gatherCodes(tensor, packed, rows, signal)
  return {
    ...tensor,
    shape: [rows.length, ...tensor.shape.slice(1)],
    source: bufferSource(name, bytes),
    offset: 0,
    byteLength: bytes.byteLength,
    sorted: undefined,
  }
}

/** Calls `take` with each row's index in the result, its index in its slab, and the slab's bytes. */
async function eachRow(
  { source, offset, shape }: TensorInfo,
  rows: readonly number[],
  bytesOf: (rows: number) => number,
  take: (to: number, row: number, slab: Uint8Array, slabRows: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const [n = 0] = shape
  let to = 0
  for (let first = 0; first < n; first += SLAB) {
    const count = Math.min(SLAB, n - first)
    if ((rows[to] ?? n) >= first + count) continue
    const slab = await source.read(offset + bytesOf(first), bytesOf(count), signal)
    signal.throwIfAborted()
    for (let row = rows[to]; row !== undefined && row < first + count; row = rows[++to])
      take(to, row - first, slab, count)
  }
}

async function gatherStored(
  tensor: TensorInfo,
  rows: readonly number[],
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const size = tensor.byteLength / (tensor.shape[0] ?? 1)
  const out = new Uint8Array(rows.length * size)
  const take = (to: number, row: number, slab: Uint8Array) =>
    out.set(slab.subarray(row * size, (row + 1) * size), to * size)
  await eachRow(tensor, rows, (count) => count * size, take, signal)
  return out
}

const panelsOf = (encoding: Encoding, k: number) => (rows: number) =>
  (roundUp(rows, ROW_PADDING) / PANEL_ROWS) * panelBytes(encoding, k)

async function gatherFloats(
  tensor: TensorInfo,
  encoding: 'f32' | 'f16' | 'bf16',
  rows: readonly number[],
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const k = tensor.shape[1] ?? 0
  const panel = panelBytes(encoding, k)
  const size = panel / k / PANEL_ROWS
  const out = new Uint8Array(panelsOf(encoding, k)(rows.length))
  const placeOf = (row: number) => Math.floor(row / PANEL_ROWS) * panel + (row % PANEL_ROWS) * size
  const take = (to: number, row: number, slab: Uint8Array) => {
    for (let i = 0; i < k; i++) {
      const from = placeOf(row) + i * PANEL_ROWS * size
      out.set(slab.subarray(from, from + size), placeOf(to) + i * PANEL_ROWS * size)
    }
  }
  await eachRow(tensor, rows, panelsOf(encoding, k), take, signal)
  return out
}

async function gatherCodes(
  tensor: TensorInfo,
  format: Format,
  rows: readonly number[],
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const k = tensor.shape[1] ?? 0
  const groups = groupCount(format, k)
  const out = emptyMatrix(format, rows.length, k)
  let unlaid: { readonly slab: Uint8Array; readonly matrix: ReturnType<typeof unlayMatrix> } | undefined
  const take = (to: number, row: number, slab: Uint8Array, count: number) => {
    if (unlaid?.slab !== slab) unlaid = { slab, matrix: unlayMatrix(slab, format, count, k) }
    const { codes, scales, minimums } = unlaid.matrix
    out.codes.set(codes.subarray(row * k, (row + 1) * k), to * k)
    out.scales.set(scales.subarray(row * groups, (row + 1) * groups), to * groups)
    if (minimums !== undefined)
      out.minimums?.set(minimums.subarray(row * groups, (row + 1) * groups), to * groups)
  }
  await eachRow(tensor, rows, panelsOf(format, k), take, signal)
  return layMatrix(out) as Uint8Array<ArrayBuffer>
}
