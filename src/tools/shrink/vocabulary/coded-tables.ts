// Stores a pack's tables (embedding, logits matrix) in other formats: weights rounded to nearest with a
// searched scale, or codes solved beforehand.

import { matrixBytes } from '../../../core/abi/encodings.ts'
import { type Weights, weightOf } from '../../../core/arch/tensors/names.ts'
import type { PackContents, PackTensor } from '../../../core/formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { readMatrix } from '../calibrate/gram.ts'
import type { Format } from '../codes/coded-matrix.ts'
import { layMatrix } from '../codes/lay.ts'
import { rtn } from '../matrix/grid.ts'
import { gatherRows } from './gather-rows.ts'

const EMBEDDING = 'embed.weight'
const LOGITS = 'output.weight'
/** The embedding, and the logits matrix if it is separate. */
export const TABLES: readonly string[] = [EMBEDDING, LOGITS]

/** Rows held in memory as floats: a multiple of the row padding of matrices. */
const SLAB = 2048

/** Formats of the embedding and the logits matrix. */
export interface TableFormats {
  /** Default: unchanged. */
  readonly table?: Format | undefined
  /** Default: `table`. A different format separates the logits matrix from the embedding. */
  readonly head?: Format | undefined
}

/**
 * `weights`: the weights that `contents` encodes. `solved`: codes of the logits matrix in `head`'s
 * format, in the kernels' layout. Default: its weights are rounded.
 */
export function withTables(
  contents: PackContents,
  weights: Weights,
  { table, head = table }: TableFormats,
  signal: AbortSignal,
  solved?: () => Promise<Uint8Array>,
): PackContents {
  const isTied = !contents.tensors.some(({ name }) => name === LOGITS)
  const unties = isTied && head !== table
  const coded = (own: PackTensor, format: Format | undefined, name = own.name): PackTensor => {
    if (format === undefined) return own
    const isHead = name === LOGITS || (isTied && !unties)
    const make = isHead && solved !== undefined ? solved : undefined
    return codedTable({ ...own, name }, weightOf(weights, own.name), format, signal, make)
  }
  const tensors = contents.tensors.flatMap((own) => {
    if (own.name === LOGITS) return [coded(own, head)]
    if (own.name !== EMBEDDING) return [own]
    return unties ? [coded(own, table), coded(own, head, LOGITS)] : [coded(own, table)]
  })
  const config = unties ? { ...contents.config, tiedEmbeddings: false } : contents.config
  return { ...contents, config, tensors }
}

function codedTable(
  { name, shape }: PackTensor,
  tensor: TensorInfo,
  format: Format,
  signal: AbortSignal,
  solved?: () => Promise<Uint8Array>,
): PackTensor {
  const [n = 0, k = 0] = shape
  const bytes = matrixBytes(format, n, k)
  let made: Promise<Uint8Array> | undefined
  const rounded = async () => {
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
    // A writer reads the data twice, for the hashes and for the file.
    made ??= (solved ?? rounded)()
    yield await made
  }
  return { name, encoding: format, shape, bytes, data }
}
