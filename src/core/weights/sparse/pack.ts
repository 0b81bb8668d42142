// Packs a matrix for the .hbm writer in the encoding that the policy chooses, and gives the reason.

import {
  type Encoding,
  GROUP_SIZE,
  isSparse,
  matrixBytes,
  ROW_PADDING,
  roundUp,
  type SparseBase,
  type SparseEncoding,
  type SparseFormat,
  sparseEncodings,
  sparseParts,
} from '../../abi/encodings.ts'
import type { PackTensor } from '../../formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { packedChunks } from '../slabs.ts'
import { streamVector } from '../stream-weights.ts'
import { type Counted, chooseSparse, type SparseChoice, type SparsePolicy } from './choose-sparse.ts'
import { stripTable } from './matrix.ts'
import { type DenseStrip, denseStrip, stripBytes } from './panels.ts'
import { STRIP_WRITERS } from './writers.ts'

/** An [n, k] matrix under its canonical name. Reading its data throws the same errors as `streamMatrix`. */
export function packMatrix(
  name: string,
  tensor: TensorInfo,
  encoding: Encoding,
  signal?: AbortSignal,
): PackTensor {
  const [n = 0, k = 0] = tensor.shape
  const data = () => packedChunks(tensor, encoding, { signal })
  return { name, encoding, shape: [n, k], bytes: matrixBytes(encoding, n, k), data }
}

/** A norm weight or a bias, as f32. */
export function packVector(name: string, tensor: TensorInfo, signal?: AbortSignal): PackTensor {
  const n = tensor.shape.reduce((product, size) => product * size, 1)
  const bytes = roundUp(n, ROW_PADDING) * 4
  async function* data() {
    const slot = new Uint8Array(bytes)
    await streamVector([{ tensor, n }], () => slot, { signal })
    yield slot
  }
  return { name, encoding: 'f32', shape: [n], bytes, data }
}

/** The slot, as whole strips of dense panels. */
export function sparseSlot(
  base: SparseBase,
  format: SparseFormat,
  panels: Uint8Array,
  k: number,
): Uint8Array {
  const groups = Math.ceil(k / 32)
  const size = stripBytes(base, groups)
  const strips = Array.from({ length: panels.length / size }, (_, i) =>
    STRIP_WRITERS[format].encode(denseStrip(base, groups, panels.slice(i * size, (i + 1) * size))),
  )
  const table = stripTable(
    strips.map(({ length }) => length),
    strips.length * 32,
  )
  const slot = new Uint8Array(strips.reduce((sum, { length }) => sum + length, table.length))
  slot.set(table)
  let at = table.length
  for (const strip of strips) {
    slot.set(strip, at)
    at += strip.length
  }
  return slot
}

/** The result of surveying a matrix: the encoding of all parts, and the size of every strip of each part. */
interface SparseSurvey {
  readonly choice: SparseChoice
  readonly sizes: readonly (readonly number[])[]
}

/** Reads all parts once, quantised to `base`. Throws the same errors as `packedChunks`. */
export async function surveySparse(
  tensors: readonly TensorInfo[],
  base: SparseBase,
  policy: SparsePolicy,
  signal?: AbortSignal,
): Promise<SparseSurvey> {
  const encodings = new Map<SparseEncoding, Counted>(
    sparseEncodings(base).map((encoding) => [encoding, { kept: 0, units: 0, bytes: 0 }]),
  )
  const sizes = tensors.map(
    () => new Map([...encodings.keys()].map((encoding) => [encoding, [] as number[]] as const)),
  )
  let denseBytes = 0
  for (const [part, tensor] of tensors.entries()) {
    for await (const strip of denseStrips(tensor, base, signal)) {
      denseBytes += stripBytes(base, strip.groups)
      for (const [encoding, sum] of encodings) {
        const { kept, units, bytes } = STRIP_WRITERS[sparseParts(encoding).format].measure(strip)
        encodings.set(encoding, {
          kept: sum.kept + kept,
          units: sum.units + units,
          bytes: sum.bytes + bytes,
        })
        sizes[part]!.get(encoding)!.push(bytes)
      }
    }
  }
  const choice = chooseSparse(base, { denseBytes, encodings }, policy)
  const { encoding } = choice
  return { choice, sizes: isSparse(encoding) ? sizes.map((part) => part.get(encoding)!) : [] }
}

/** An [n, k] matrix under its canonical name. `sizes`: the bytes of its strips, from the survey. */
export function packSparse(
  name: string,
  tensor: TensorInfo,
  encoding: SparseEncoding,
  sizes: readonly number[],
  signal?: AbortSignal,
): PackTensor {
  const [n = 0, k = 0] = tensor.shape
  const { base, format } = sparseParts(encoding)
  const table = stripTable(sizes, n)
  async function* data() {
    yield table
    for await (const strip of denseStrips(tensor, base, signal)) yield STRIP_WRITERS[format].encode(strip)
  }
  const bytes = sizes.reduce((sum, size) => sum + size, table.byteLength)
  return { name, encoding, shape: [n, k], bytes, data }
}

/** The rows of a tensor, 32 at a time. The last batch is padded with zeros. */
async function* denseStrips(
  tensor: TensorInfo,
  base: SparseBase,
  signal?: AbortSignal,
): AsyncGenerator<DenseStrip> {
  const groups = Math.ceil((tensor.shape[1] ?? 0) / GROUP_SIZE)
  const size = stripBytes(base, groups)
  for await (const chunk of packedChunks(tensor, base, { signal })) {
    for (let at = 0; at < chunk.byteLength; at += size)
      yield denseStrip(base, groups, chunk.subarray(at, at + size))
  }
}
