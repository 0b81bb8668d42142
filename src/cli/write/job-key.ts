// Job keys. In: what the result of a long job depends on. Out: its parts as short values, of which any change
// tells two jobs apart.
import { createHash, type Hash } from 'node:crypto'
import { PANEL_ROWS } from '../../abi/encodings.ts'
import type { Weights } from '../../arch/tensors/names.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { packageVersion } from '../version.ts'

/** By name, as a person reads it: a job that differs is refused with the names of what differs. */
export interface JobKey {
  /** Work that another version left is not gone on with: its methods may be others. */
  readonly version: string
  readonly [part: string]: string | object
}

const SLAB_BYTES = 8 << 20

export const jobKey = (parts: Readonly<Record<string, string | object>>): JobKey => ({
  version: packageVersion(),
  ...parts,
})

/**
 * SHA-256 of every weight as it is read, changed by adapters or not. Reads all of them once. Throws what
 * reading throws, or the signal's reason.
 */
export async function hashWeights(
  weights: Weights,
  signal: AbortSignal,
  onProgress?: (done: number, total: number) => void,
): Promise<string> {
  const hash = createHash('sha256')
  const total = [...weights.values()].reduce((sum, { byteLength }) => sum + byteLength, 0)
  let done = 0
  const count = (bytes: number) => {
    done += bytes
    onProgress?.(done, total)
  }
  for (const [name, tensor] of weights) {
    hash.update(JSON.stringify([name, formOf(tensor), tensor.sorted && formOf(tensor.sorted.tensor)]))
    await hashTensor(hash, tensor, signal, count)
    if (tensor.sorted === undefined) continue
    await hashTensor(hash, tensor.sorted.order, signal)
    await hashTensor(hash, tensor.sorted.tensor, signal)
  }
  return hash.digest('hex')
}

const formOf = ({ dtype, shape, byteLength, packed, change, like }: TensorInfo) => ({
  ...{ dtype, shape, byteLength, packed, change, like },
})

async function hashTensor(
  hash: Hash,
  { source, offset, byteLength, shape, packed }: TensorInfo,
  signal: AbortSignal,
  count?: (bytes: number) => void,
): Promise<void> {
  // Rows that are computed while they are read are read whole, and panels below an adapter from their start.
  const unit = packed === undefined ? (PANEL_ROWS * byteLength) / (shape[0] ?? 1) : 1
  const slab = Math.max(1, Math.floor(SLAB_BYTES / unit)) * unit
  for (let at = 0; at < byteLength; at += slab) {
    const length = Math.min(slab, byteLength - at)
    hash.update(await source.read(offset + at, length, signal))
    count?.(length)
    signal.throwIfAborted()
  }
}

/** SHA-256 of a value as JSON. */
export const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex')
