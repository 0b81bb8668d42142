// A stored tensor with the shape that the graph expects, and the numbers of a vector.

import { isSparse, matrixBytes } from '../abi/encodings.ts'
import { HalfbyteError } from '../base/errors.ts'
import { readVector } from '../formats/dequantize.ts'
import { BLOCKS } from '../formats/dtypes.ts'
import { malformed, shown } from '../formats/malformed.ts'
import type { TensorInfo } from '../formats/tensors.ts'

/** A stored tensor and the number of outputs that the graph expects. */
export interface StreamPart {
  readonly tensor: TensorInfo
  readonly n: number
}

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined
  /** Called with the number of bytes of the file that were consumed since the last call. */
  readonly onBytes?: ((bytes: number) => void) | undefined
}

/** The numbers of a vector. Throws `architecture` if their count differs from what the graph expects. */
export async function readPart({ tensor, n }: StreamPart, { signal }: StreamOptions): Promise<Float32Array> {
  const values = await readVector(tensor, signal)
  if (values.length !== n) throw wrongShape(tensor, `[${n}]`)
  return values
}

/** Throws `architecture` if a tensor is not [n, k], `format` if its size in bytes does not match. */
export function checkMatrix({ tensor, n }: StreamPart, k: number): void {
  const [rows, inputs, ...others] = tensor.shape
  if (rows !== n || inputs !== k || others.length > 0) throw wrongShape(tensor, `[${n}, ${k}]`)
  if (tensor.packed === undefined && k % BLOCKS[tensor.dtype].elements !== 0)
    throw wrongShape(tensor, `rows of 32`)
  const { packed } = tensor
  // The table of a sparse tensor determines its length, and is checked when the tensor is read.
  if (packed === undefined || isSparse(packed)) return
  if (tensor.byteLength !== matrixBytes(packed, n, k)) {
    throw malformed(
      tensor.source.name,
      `${shown(tensor.name)} has ${tensor.byteLength} bytes but ${packed} needs ${matrixBytes(packed, n, k)}`,
    )
  }
}

function wrongShape(tensor: TensorInfo, expected: string): HalfbyteError {
  return new HalfbyteError(
    'architecture',
    `${shown(tensor.name)} has the shape [${tensor.shape}] but the model's configuration makes it ${expected}; ` +
      'the file and its configuration belong to different models',
    { tensor: tensor.name, shape: tensor.shape.map(String), expected },
  )
}
