// A stored tensor with the shape that the graph expects, and the numbers of a vector.

import { type Encoding, isSparse, matrixBytes } from '../abi/encodings.ts'
import type { ByteSource } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { readVector } from '../formats/dequantize.ts'
import { BLOCKS } from '../formats/dtypes.ts'
import { malformed, shown } from '../formats/malformed.ts'
import type { DType, TensorInfo } from '../formats/tensors.ts'

/** A stored tensor and the number of outputs that the graph expects. */
export interface StreamPart {
  readonly tensor: TensorInfo
  readonly n: number
}

/** Rows of a stored tensor, and their place in linear memory. */
export interface MovedRows {
  readonly dtype: DType
  readonly encoding: Encoding
  /** Elements per row. */
  readonly k: number
  /** A multiple of 8. */
  readonly rows: number
  readonly source: ByteSource
  /** The rows' first byte in the source. */
  readonly offset: number
  /** Stored bytes of all rows, at most `RowMover.bytes`. */
  readonly length: number
  /** The rows' panels, a view of linear memory. */
  readonly target: Uint8Array
  /** Packs the stored bytes instead, or throws what is wrong with them. */
  readonly pack: (stored: Uint8Array) => void
}

/** Moves stored rows into panels on all threads, while the rows after them are read. */
export interface RowMover {
  /** Maximum stored bytes of one call. */
  readonly bytes: number
  /** Whether it can turn rows of this type into this encoding. */
  can(dtype: DType, encoding: Encoding): boolean
  /**
   * Resolves when the rows have been read. Their panels may be incomplete until the next call or `settle`.
   */
  move(rows: MovedRows, signal?: AbortSignal): Promise<void>
  /** Completes the panels of all rows. Throws the errors of `pack`. */
  settle(): void
}

export interface StreamOptions {
  /** Moves rows of linear memory that it can. Default: rows are packed one slab after the other. */
  readonly mover?: RowMover | undefined
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
