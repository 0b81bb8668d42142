// Tensors for a pack. In: a tensor of any file and its encoding in the pack. Out: input for the .hbm writer.

import { type Encoding, matrixBytes, ROW_PADDING, roundUp } from '../../abi/encodings.ts'
import type { PackTensor } from '../../formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { packedChunks } from '../slabs.ts'
import { streamVector } from '../stream.ts'

/** An [n, k] matrix under its canonical name. Reading its data throws what `streamMatrix` throws. */
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
