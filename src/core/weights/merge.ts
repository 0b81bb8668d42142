// Computes a matrix with its adapters: low-rank sums, and norms of rows or columns (DoRA).

import { isSparse, PANEL_ROWS, panelBytes } from '../abi/encodings.ts'
import { filledSource } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { floatsToBfloats, floatsToHalves } from '../base/half.ts'
import { changedShape, type LowRank, type Shift } from '../formats/adapter.ts'
import { dequantize, readVector } from '../formats/dequantize.ts'
import { rowBytes, storedRows } from '../formats/dtypes.ts'
import { malformed, shown } from '../formats/malformed.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import { unpackPanels } from './unpack.ts'

/** A change to a matrix. Its scale includes the factor of the adapter. */
export interface Change extends LowRank {
  /** Which row of B, or of a table, changes a row of the matrix. */
  readonly rowOf: (row: number) => number
}

/** The loaded numbers of a change. */
interface Loaded extends Pick<Change, 'rowOf' | 'scale'> {
  readonly change: Change
  readonly rank: number
  /** [rank, columns] */
  readonly a: Float32Array
  /** [rows, rank] */
  readonly b: Float32Array
  /** DoRA: the norm to which each row is scaled while it is read. */
  readonly rowLengths?: Float32Array | undefined
  /** DoRA of a table: a factor for each column. */
  readonly columnFactors?: Float64Array | undefined
}

/**
 * The matrix with its changes. Each DoRA computes its norms with only its own change, and scales the result
 * of the earlier changes, as PEFT does with several adapters.
 */
export function merged(base: TensorInfo, changes: readonly Change[]): TensorInfo {
  const { name, packed, like = base.dtype } = base
  if (packed !== undefined && isSparse(packed)) {
    throw new HalfbyteError(
      'unsupported',
      `${shown(name)} is stored without its zeros; adapt the model it was converted from`,
    )
  }
  const [n = 0, k = 0] = base.shape
  const dtype = like === 'F16' || like === 'BF16' ? like : 'F32'
  const bytes = rowBytes(dtype, k)
  let loading: Promise<readonly Loaded[]> | undefined
  const load = async (signal?: AbortSignal) => {
    const loaded: Loaded[] = []
    for (const change of changes) loaded.push(await loadedChange(base, change, signal))
    return loaded
  }
  const read = async (offset: number, length: number, signal?: AbortSignal) => {
    const first = offset / bytes
    const values = finite(base, await valuesOf(base, first, length / bytes, signal))
    loading ??= load(signal)
    const loaded = await loading.catch((error) => {
      loading = undefined
      throw error
    })
    // A and B stay in memory only while their matrix is read.
    if (offset + length === n * bytes) loading = undefined
    changeRows(name, values, first, loaded)
    return new Uint8Array(stored(dtype, values).buffer)
  }
  const source = { name: base.source.name, size: n * bytes, read }
  return {
    ...base,
    dtype,
    source,
    offset: 0,
    byteLength: source.size,
    packed: undefined,
    coding: undefined,
    sorted: undefined,
    like: like === 'F32' ? undefined : dtype === 'F32' ? 'Q8_0' : undefined,
  }
}

/** Changes the rows from `first` on in place. */
// hot
function changeRows(name: string, values: Float32Array, first: number, loaded: readonly Loaded[]): void {
  const k = (loaded[0]?.a.length ?? 0) / (loaded[0]?.rank ?? 1)
  const sum = new Float64Array(k)
  const delta = new Float64Array(k)
  let peak = 0
  for (let at = 0, row = first; at < values.length; at += k, row++) {
    sum.set(values.subarray(at, at + k))
    for (const one of loaded) {
      deltaOf(one, row, delta)
      const { columnFactors } = one
      const factor = rowFactor(one, row, values.subarray(at, at + k), delta)
      for (let i = 0; i < k; i++) sum[i] = (columnFactors?.[i] ?? factor) * (sum[i]! + delta[i]!)
    }
    for (let i = 0; i < k; i++) peak = Math.max(peak, Math.abs(sum[i]!))
    values.set(sum, at)
  }
  // Opposite infinities add up to NaN.
  if (!(peak <= LARGEST)) throw tooLarge(loaded.at(-1)!.change.down.source.name, name, peak)
}

/** scale * B * A for one row. */
// hot
function deltaOf({ a, b, rank, scale, rowOf }: Loaded, row: number, delta: Float64Array): void {
  delta.fill(0)
  const k = delta.length
  const from = rowOf(row) * rank
  for (let r = 0; r < rank; r++) {
    const factor = scale * b[from + r]!
    for (let i = 0; i < k; i++) delta[i]! += factor * a[r * k + i]!
  }
}

// hot
function rowFactor(
  { change, rowLengths, rowOf }: Loaded,
  row: number,
  own: Float32Array,
  delta: Float64Array,
): number {
  if (rowLengths === undefined) return 1
  let square = 0
  for (let i = 0; i < delta.length; i++) square += (own[i]! + delta[i]!) ** 2
  if (square === 0) throw withoutLength(change, `row ${row}`)
  return rowLengths[rowOf(row)]! / Math.sqrt(square)
}

const withoutLength = ({ magnitude, down }: Change, place: string): HalfbyteError =>
  malformed(
    down.source.name,
    `${shown(magnitude?.name)} scales ${place} of its matrix, which is all zeros with the adapter`,
  )

/** How many rows of a table are read at once to measure its columns: a whole number of panels. */
const MEASURED_ROWS = 512

async function loadedChange(base: TensorInfo, change: Change, signal?: AbortSignal): Promise<Loaded> {
  const { down, up, scale, rowOf, magnitude } = change
  const isTable = change.isTable === true
  const [, k] = changedShape(change)
  const rank = down.shape[0] ?? 0
  const lower = finite(down, await valuesOf(down, 0, rank, signal))
  const upper = finite(up, await valuesOf(up, 0, up.shape[0] ?? 0, signal))
  const loaded: Loaded = {
    change,
    rank,
    scale,
    rowOf,
    a: isTable ? transposed(upper, rank) : lower,
    b: isTable ? transposed(lower, down.shape[1] ?? 0) : upper,
  }
  if (magnitude === undefined) return loaded
  const lengths = finite(magnitude, await readVector(magnitude, signal))
  if (!isTable) return { ...loaded, rowLengths: lengths }
  const squares = new Float64Array(k)
  const delta = new Float64Array(k)
  const [n = 0] = base.shape
  for (let first = 0; first < n; first += MEASURED_ROWS) {
    const count = Math.min(MEASURED_ROWS, n - first)
    const values = finite(base, await valuesOf(base, first, count, signal))
    for (let row = 0; row < count; row++) {
      deltaOf(loaded, first + row, delta)
      for (let i = 0; i < k; i++) squares[i]! += (values[row * k + i]! + delta[i]!) ** 2
    }
  }
  const empty = squares.indexOf(0)
  if (empty >= 0) throw withoutLength(change, `column ${empty}`)
  return { ...loaded, columnFactors: squares.map((square, i) => lengths[i]! / Math.sqrt(square)) }
}

/** A matrix [rows, width] as [width, rows]. */
function transposed(values: Float32Array, width: number): Float32Array {
  const rows = values.length / width
  const out = new Float32Array(values.length)
  for (let row = 0; row < rows; row++)
    for (let i = 0; i < width; i++) out[i * rows + row] = values[row * width + i]!
  return out
}

/** The bias plus its shifts, as f32. */
export function shifted(base: TensorInfo, shifts: readonly (Shift & Pick<Change, 'rowOf'>)[]): TensorInfo {
  const { name } = base
  const [n = 0] = base.shape
  const source = filledSource(base.source.name, 4 * n, async (target, offset, signal) => {
    const values = finite(base, await readVector(base, signal))
    for (const { tensor, scale, rowOf } of shifts) {
      const own = finite(tensor, await readVector(tensor, signal))
      for (let at = 0; at < n; at++) values[at] = values[at]! + scale * own[rowOf(at)]!
      const peak = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
      if (!(peak <= LARGEST)) throw tooLarge(tensor.source.name, name, peak)
    }
    target.set(new Uint8Array(values.buffer).subarray(offset, offset + target.length))
  })
  return {
    ...base,
    dtype: 'F32',
    shape: [n],
    source,
    offset: 0,
    byteLength: 4 * n,
    packed: undefined,
    coding: undefined,
    change: undefined,
  }
}

/**
 * The largest F16. No trained matrix has such values. With far larger ones, sums of squares overflow, and
 * norms then return zeros instead of an error.
 */
const LARGEST = 65504

const tooLarge = (file: string, tensor: string, peak: number): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file}: with the adapter, ${shown(tensor)} has values up to ${peak}, but the limit is ${LARGEST}; ` +
      'load the adapter with a smaller scale',
    { file, tensor },
  )

/** Returns the values of a tensor. Throws `format` if one of them is not finite. */
function finite({ name, source }: TensorInfo, values: Float32Array): Float32Array {
  const wrong = values.find((value) => !Number.isFinite(value))
  if (wrong === undefined) return values
  throw malformed(source.name, `${shown(name)} contains ${wrong}, but weights must be finite numbers`, {
    tensor: name,
  })
}

/** Rows of any tensor. Panels are read starting at a multiple of 8. */
async function valuesOf(
  { source, offset, packed, dtype, coding, shape }: TensorInfo,
  first: number,
  count: number,
  signal?: AbortSignal,
): Promise<Float32Array> {
  const k = shape[1] ?? 0
  if (packed === undefined || isSparse(packed)) {
    const bytes = rowBytes(dtype, k)
    const out = new Float32Array(count * k)
    const rows = await source.read(offset + first * bytes, count * bytes, signal)
    dequantize(storedRows(dtype, rows, coding), 0, out.length, out, 0)
    return out
  }
  const panel = panelBytes(packed, k)
  const panels = Math.ceil(count / PANEL_ROWS)
  const rows = await source.read(offset + (first / PANEL_ROWS) * panel, panels * panel, signal)
  return unpackPanels(packed, rows, k).subarray(0, count * k)
}

/** Rounded to nearest, ties to even. */
function stored(dtype: 'F32' | 'F16' | 'BF16', values: Float32Array): Float32Array | Uint16Array {
  if (dtype === 'F32') return values
  if (dtype === 'F16') return floatsToHalves(values)
  return floatsToBfloats(values)
}
