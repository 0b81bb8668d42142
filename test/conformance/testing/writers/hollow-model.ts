// Hollow models: files without data. In: a shape. Out: a GGUF header, and the size that the whole file would
// have. For testing code that reads only headers.
import { randomModel } from '../../../../lab/bench/random-model.ts'
import type { Shape } from '../../../../lab/bench/shapes.ts'
import { HalfbyteError } from '../../../../src/core/base/errors.ts'
import type { DType } from '../../../../src/core/formats/tensors.ts'
import { ggufHeader, tensorBytes } from './gguf-writer.ts'

export interface HollowModel {
  readonly header: Uint8Array
  readonly size: number
}

/** Matrices have `dtype`. */
export function hollowModel(shape: Shape, dtype: DType): HollowModel {
  const { metadata, tensors } = randomModel(shape)
  const stored = tensors.map((tensor) => (tensor.dtype === 'Q4_0' ? { ...tensor, dtype } : tensor))
  const header = ggufHeader({ metadata, tensors: stored })
  const size = stored.reduce((sum, tensor) => sum + Math.ceil(tensorBytes(tensor) / 32) * 32, header.length)
  return { header, size }
}

/** The model as a source. Reading past its header fails. */
export function hollowSource(name: string, { header, size }: HollowModel) {
  return {
    name,
    size,
    async read(offset: number, length: number): Promise<Uint8Array> {
      if (offset + length <= header.length) return header.slice(offset, offset + length)
      // Readers read a slab at a time, which may extend past the header.
      if (offset >= header.length) {
        throw new HalfbyteError('internal', `byte ${offset} of a header of ${header.length} was read`)
      }
      const bytes = new Uint8Array(length)
      bytes.set(header.subarray(offset))
      return bytes
    },
  }
}
