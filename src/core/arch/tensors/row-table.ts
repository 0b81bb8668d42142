// A table of embeddings that is computed while it is being read.
import { filledSource } from '../../base/bytes.ts'
import { readVector } from '../../formats/dequantize.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { pieceOf } from './pieces.ts'

/** Rows [first, first + count) of a matrix as f32, one after the other. */
export function readRows(
  tensor: TensorInfo,
  first: number,
  count: number,
  signal?: AbortSignal,
): Promise<Float32Array> {
  const width = tensor.shape[1] ?? 0
  const piece = pieceOf(tensor, { tensor: tensor.name, runs: [[first, count]] }, [count, width])
  return readVector({ ...piece, shape: [count * width] }, signal)
}

/**
 * `count` rows of `table`, starting at `first`, as f32. `change` is called with a few rows at a time and
 * modifies them in place; `row` is the index of the first of these rows in the new table.
 */
export function changedRows(
  table: TensorInfo,
  first: number,
  count: number,
  change: (values: Float32Array, row: number, signal?: AbortSignal) => Promise<void>,
): TensorInfo {
  const width = table.shape[1] ?? 0
  const byteLength = count * width * 4
  const source = filledSource(table.source.name, byteLength, async (target, offset, signal) => {
    const begin = Math.floor(offset / 4 / width)
    const end = Math.ceil((offset + target.length) / 4 / width)
    const values = await readRows(table, first + begin, end - begin, signal)
    await change(values, begin, signal)
    const skipped = offset - begin * width * 4
    target.set(new Uint8Array(values.buffer).subarray(skipped, skipped + target.length))
  })
  return { name: table.name, dtype: 'F32', shape: [count, width], offset: 0, byteLength, source }
}
