// Pieces. In: a stored tensor, which of its rows a weight is, in what form. Out: the weight as a tensor of its own.
import type { ByteSource } from '../base/bytes.ts'
import { rowBytes } from '../formats/dtypes.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import type { Place } from './family.ts'

/**
 * The weight of shape `shape` that `place` says lies in `tensor`. Reads nothing yet; rows that lie together are read where
 * they lie. A transposed tensor is read whole for each slab.
 */
export function pieceOf(
  tensor: TensorInfo,
  { runs, form, change }: Place,
  shape: readonly number[],
): TensorInfo {
  if (form === 'transposed') return transposed(tensor, runs?.[0]?.[0] ?? 0, shape)
  if (runs === undefined) {
    // A vector keeps the shape that its file gives it.
    return change === undefined && shape.length === 1 ? tensor : { ...tensor, shape, change }
  }
  const bytes = rowBytes(tensor.dtype, shape[1] ?? 1)
  const [run, another] = runs
  const byteLength = (shape[0] ?? 0) * bytes
  if (run !== undefined && another === undefined) {
    return { ...tensor, shape, change, offset: tensor.offset + run[0] * bytes, byteLength }
  }
  return { ...tensor, shape, offset: 0, byteLength, source: stitched(tensor, runs, bytes) }
}

function source(tensor: TensorInfo, size: number, read: ByteSource['read']): ByteSource {
  return { name: tensor.source.name, size, read }
}

/** Runs of rows, one after the other. */
function stitched(
  tensor: TensorInfo,
  runs: readonly (readonly [number, number])[],
  bytes: number,
): ByteSource {
  const size = runs.reduce((sum, [, count]) => sum + count * bytes, 0)
  return source(tensor, size, async (offset, length, signal) => {
    const out = new Uint8Array(length)
    let start = 0
    for (const [first, count] of runs) {
      const from = Math.max(start, offset)
      const to = Math.min(start + count * bytes, offset + length)
      if (from < to) {
        const at = tensor.offset + first * bytes + (from - start)
        out.set(await tensor.source.read(at, to - from, signal), from - offset)
      }
      start += count * bytes
    }
    return out
  })
}

/** Rows [first, first + n) of the transpose of a float matrix. */
function transposed(tensor: TensorInfo, first: number, shape: readonly number[]): TensorInfo {
  const [n = 0, k = 0] = shape
  const width = tensor.shape[1] ?? 0
  const size = rowBytes(tensor.dtype, 1)
  const read: ByteSource['read'] = async (offset, length, signal) => {
    const stored = await tensor.source.read(tensor.offset, tensor.byteLength, signal)
    const out = new Uint8Array(length)
    for (let at = 0; at < length; at += size) {
      const element = (offset + at) / size
      const from = ((element % k) * width + first + Math.floor(element / k)) * size
      for (let byte = 0; byte < size; byte++) out[at + byte] = stored[from + byte]!
    }
    return out
  }
  const byteLength = n * k * size
  return { ...tensor, shape, offset: 0, byteLength, source: source(tensor, byteLength, read) }
}
