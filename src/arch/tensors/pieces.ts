// Pieces. In: a stored tensor, a weight's rows in it and their form. Out: the weight as a tensor of its own.
import { filledSource, joinedSource } from '../../base/bytes.ts'
import { rowBytes } from '../../formats/dtypes.ts'
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
