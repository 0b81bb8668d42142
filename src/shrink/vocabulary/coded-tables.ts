// Stores a pack's tables (embedding, logits matrix) in other codes, each weight rounded to the nearest under
// a scale that is searched for.

import { matrixBytes } from '../../abi/encodings.ts'
import { type Weights, weightOf } from '../../arch/tensors/names.ts'
import type { PackContents, PackTensor } from '../../formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { readMatrix } from '../calibrate/gram.ts'
import type { Format } from '../codes/coded-matrix.ts'
import { layMatrix } from '../codes/lay.ts'
import { rtn } from '../matrix/grid.ts'
import { gatherRows } from './gather-rows.ts'

/** The embedding, and the logits matrix where it is another. */
export const TABLES: readonly string[] = ['embed.weight', 'output.weight']

/** Rows that are in memory as floats: a multiple of the rows to which matrices are padded. */
const SLAB = 2048

/** `weights`: those that the contents were made of. Without a `format` the contents are returned. */
export function withTables(
  contents: PackContents,
  weights: Weights,
  format: Format | undefined,
  signal: AbortSignal,
): PackContents {
  if (format === undefined) return contents
  const tensors = contents.tensors.map((tensor) =>
    TABLES.includes(tensor.name)
      ? codedTable(tensor, weightOf(weights, tensor.name), format, signal)
      : tensor,
  )
  return { ...contents, tensors }
}

function codedTable(
  { name, shape }: PackTensor,
  tensor: TensorInfo,
  format: Format,
  signal: AbortSignal,
): PackTensor {
  const [n = 0, k = 0] = shape
  const bytes = matrixBytes(format, n, k)
  let made: Promise<Uint8Array> | undefined
  const make = async () => {
    const out = new Uint8Array(bytes)
    for (let first = 0, at = 0; first < n; first += SLAB) {
      const rows = Array.from({ length: Math.min(SLAB, n - first) }, (_, row) => first + row)
      const values = await readMatrix(await gatherRows(tensor, rows, signal), signal)
      const laid = layMatrix(rtn(values, rows.length, k, format))
      out.set(laid, at)
      at += laid.length
      signal.throwIfAborted()
    }
    return out
  }
  async function* data() {
    // A writer reads twice, for the hashes and for the file.
    made ??= make()
    yield await made
  }
  return { name, encoding: format, shape, bytes, data }
}
