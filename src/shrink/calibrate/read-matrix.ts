// Reading matrices. In: a stored tensor. Out: its weights as floats, whatever its format.
import type { TensorInfo } from '../../formats/tensors.ts'
import { packVector } from '../../weights/pack/pack-tensor.ts'
import { packedChunks } from '../../weights/slabs.ts'
import { unpackPanels } from '../../weights/unpack.ts'

/** All weights of a matrix, [n][k]. */
export async function readMatrix(tensor: TensorInfo, signal: AbortSignal): Promise<Float32Array> {
  const [n = 0, k = 0] = tensor.shape
  const values = new Float32Array(n * k)
  let at = 0
  for await (const chunk of packedChunks(tensor, 'f32', { signal })) {
    const rows = unpackPanels('f32', chunk, k)
    values.set(rows.subarray(0, Math.min(rows.length, values.length - at)), at)
    at += rows.length
  }
  return values
}

/** All values of a norm weight or a bias, as the kernels read it. */
export async function readVector(tensor: TensorInfo, signal: AbortSignal): Promise<Float32Array> {
  const { shape, data } = packVector(tensor.name, tensor, signal)
  const parts: Uint8Array[] = []
  for await (const chunk of data()) parts.push(chunk.slice())
  const bytes = new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer())
  return new Float32Array(bytes.buffer).slice(0, shape[0])
}
