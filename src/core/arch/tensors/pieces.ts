// Pieces of stored tensors. In: tensors as a file has them. Out: some of their rows, their transpose, or the
// rows of several.
import { filledSource, joinedSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { readVector } from '../../formats/dequantize.ts'
import { rowBytes } from '../../formats/dtypes.ts'
import { shown } from '../../formats/malformed.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import type { StoredWeight } from '../family.ts'

/**
 * The weight of shape `shape` at `place` in `tensor`. Reads nothing yet. Adjacent rows are read directly from
 * the file. A transposed tensor is read whole for each slab.
 */
export function pieceOf(
  tensor: TensorInfo,
  { runs, form, change = tensor.change }: StoredWeight,
  shape: readonly number[],
): TensorInfo {
  if (form === 'transposed') return transposed(tensor, runs?.[0]?.[0] ?? 0, shape)
  if (form === 'shares') return shareRows(tensor, shape)
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

/** [n, 2]: 1 - s and s for each number s of a vector of floats. */
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

/** Rows [first, first + n) of a float matrix's transpose. */
function transposed(tensor: TensorInfo, first: number, shape: readonly number[]): TensorInfo {
  const [n = 0, k = 0] = shape
  const width = tensor.shape[1] ?? 0
  const size = rowBytes(tensor.dtype, 1)
  const byteLength = n * k * size
  const source = filledSource(tensor.source.name, byteLength, async (target, offset, signal) => {
    const stored = await tensor.source.read(tensor.offset, tensor.byteLength, signal)
    for (let at = 0; at < target.length; at += size) {
      const element = (offset + at) / size
      const from = ((element % k) * width + first + Math.floor(element / k)) * size
      for (let byte = 0; byte < size; byte++) target[at + byte] = stored[from + byte]!
    }
  })
  return { ...tensor, shape, offset: 0, byteLength, source }
}

/** One tensor with the rows of all. Throws `architecture` where they differ in more than their rows. */
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
