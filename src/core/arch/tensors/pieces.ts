// Parts of stored tensors. In: tensors as a file stores them. Out: some of their rows, rows of their
// transpose, or the rows of several.
import { filledSource, joinedSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { readVector } from '../../formats/dequantize.ts'
import { BLOCKS, rowBytes } from '../../formats/dtypes.ts'
import { shown } from '../../formats/malformed.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import type { StoredWeight } from '../family.ts'

/**
 * The weight of shape `shape` at `place` in `tensor`. Reads nothing yet. Adjacent rows are read directly from
 * the file. A transposed tensor is read completely for each slab.
 */
export function pieceOf(tensor: TensorInfo, place: StoredWeight, shape: readonly number[]): TensorInfo {
  const { runs, form, change = tensor.change, turn } = place
  if (form === 'shares') return shareRows(tensor, shape)
  if (form !== undefined) return { ...transposed(tensor, place, shape), change }
  if (turn !== undefined) return { ...inTurn(tensor, runs?.[0]?.[0] ?? 0, turn, shape), change }
  if (runs === undefined) {
    // A vector keeps its shape in the file.
    return change === undefined && shape.length === 1 ? tensor : { ...tensor, shape, change }
  }
  const bytes = rowBytes(tensor.dtype, shape[1] ?? 1)
  const [run, another] = runs
  const byteLength = (shape[0] ?? 0) * bytes
  if (run !== undefined && another === undefined) {
    return { ...tensor, shape, change, offset: tensor.offset + run[0] * bytes, byteLength }
  }
  const ranges = runs.map(([first, count]) => ({
    source: tensor.source,
    offset: tensor.offset + first * bytes,
    bytes: count * bytes,
  }))
  return { ...tensor, shape, offset: 0, byteLength, source: joinedSource(tensor.source.name, ranges) }
}

/** [n, 2]: the row (1 - s, s) for each number s of a float vector. */
function shareRows(tensor: TensorInfo, shape: readonly number[]): TensorInfo {
  const byteLength = 8 * (shape[0] ?? 0)
  const source = filledSource(tensor.source.name, byteLength, async (target, offset, signal) => {
    const shares = await readVector(tensor, signal)
    const rows = new Float32Array(2 * shares.length)
    for (const [i, share] of shares.entries()) {
      rows[2 * i] = 1 - share
      rows[2 * i + 1] = share
    }
    target.set(new Uint8Array(rows.buffer).subarray(offset, offset + target.length))
  })
  return { name: tensor.name, dtype: 'F32', shape, offset: 0, byteLength, source }
}

/** In quantised files, the matrices that transformers stores transposed are not transposed. */
export const formOf = ({ dtype }: TensorInfo, { form }: StoredWeight): StoredWeight['form'] =>
  BLOCKS[dtype].elements > 1 && form === 'transposed' ? undefined : form

/** Every `of`-th row, starting at `begin + first`. */
function inTurn(
  tensor: TensorInfo,
  begin: number,
  { first, of }: NonNullable<StoredWeight['turn']>,
  shape: readonly number[],
): TensorInfo {
  const bytes = rowBytes(tensor.dtype, shape[1] ?? 1)
  const byteLength = (shape[0] ?? 0) * bytes
  const source = filledSource(tensor.source.name, byteLength, async (target, offset, signal) => {
    const from = Math.floor(offset / bytes)
    const to = Math.ceil((offset + target.length) / bytes)
    const start = tensor.offset + (begin + of * from + first) * bytes
    const rows = await tensor.source.read(start, (of * (to - 1 - from) + 1) * bytes, signal)
    for (let row = from; row < to; row++) {
      const skipped = Math.max(0, offset - row * bytes)
      const at = (row - from) * of * bytes
      const own = rows.subarray(at + skipped, at + bytes)
      const place = row * bytes + skipped - offset
      target.set(own.subarray(0, target.length - place), place)
    }
  })
  return { ...tensor, shape, offset: 0, byteLength, source }
}

/**
 * Rows [first, first + n) of a matrix's transpose. The tensor holds one matrix [inputs, outputs], or several;
 * the weight is then one of them, or all of them joined by rows.
 */
function transposed(tensor: TensorInfo, place: StoredWeight, shape: readonly number[]): TensorInfo {
  const [n = 0, k = 1] = shape
  const { matrix, runs, turn = { first: 0, of: 1 } } = place
  const [, width = 0] = tensor.shape.slice(-2)
  const floats = BLOCKS[tensor.dtype].elements > 1
  const size = floats ? 4 : rowBytes(tensor.dtype, 1)
  const whole = tensor.shape.slice(0, -2).reduce((product, count) => product * count, 1)
  const each = matrix === undefined ? n / whole : n
  const part: TensorInfo =
    matrix === undefined
      ? { ...tensor, shape: [whole * k * width] }
      : {
          ...tensor,
          shape: [k * width],
          offset: tensor.offset + matrix * rowBytes(tensor.dtype, width) * k,
          byteLength: rowBytes(tensor.dtype, width) * k,
        }
  const first = (matrix === undefined ? (runs?.[0]?.[0] ?? 0) : 0) + turn.first
  const source = filledSource(tensor.source.name, n * k * size, async (target, offset, signal) => {
    const stored = floats
      ? new Uint8Array((await readVector(part, signal)).buffer)
      : await part.source.read(part.offset, part.byteLength, signal)
    for (let at = 0; at < target.length; at += size) {
      const element = (offset + at) / size
      const row = Math.floor(element / k)
      const column = first + (row % each) * turn.of
      const from = ((Math.floor(row / each) * k + (element % k)) * width + column) * size
      for (let byte = 0; byte < size; byte++) target[at + byte] = stored[from + byte]!
    }
  })
  const dtype = floats ? 'F32' : tensor.dtype
  return { ...tensor, dtype, shape, offset: 0, byteLength: n * k * size, source }
}

/**
 * Joins tensors by rows. Throws `architecture` if they differ in anything but their number of rows.
 */
export function joinedRows(file: string, tensors: readonly TensorInfo[]): TensorInfo {
  const [first, ...others] = tensors as [TensorInfo, ...TensorInfo[]]
  if (others.length === 0) return first
  const [, ...width] = first.shape
  for (const { name, dtype, shape } of others) {
    if (dtype === first.dtype && shape.slice(1).join() === width.join()) continue
    throw new HalfbyteError(
      'architecture',
      `${file}: ${shown(name)} is ${dtype} [${shape}] but follows ${shown(first.name)}, which is ${first.dtype} ` +
        `[${first.shape}]; convert the model again, with both in one dtype`,
      { tensor: name },
    )
  }
  const rows = tensors.reduce((sum, { shape }) => sum + (shape[0] ?? 0), 0)
  const ranges = tensors.map(({ source, offset, byteLength }) => ({ source, offset, bytes: byteLength }))
  const byteLength = tensors.reduce((sum, tensor) => sum + tensor.byteLength, 0)
  const source = joinedSource(first.source.name, ranges)
  return { ...first, shape: [rows, ...width], offset: 0, byteLength, source, sorted: undefined }
}
