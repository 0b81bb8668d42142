// Copies a GGUF file in one part, with its quantised weights as F16. With quantised weights, llama.cpp rounds
// activations to 8 bits, with one scale per 256 of them; with F16 weights, it rounds them to F16. Its results
// on the copy therefore show the effect of both engines' rounding.
import { createWriteStream, openAsBlob } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { floatToHalf } from '../../../src/core/base/half.ts'
import { dequantize } from '../../../src/core/formats/dequantize.ts'
import { BLOCKS, rowBytes, storedRows } from '../../../src/core/formats/dtypes.ts'
import { readGguf } from '../../../src/core/formats/gguf/gguf.ts'
import type { MetaValue, TensorInfo } from '../../../src/core/formats/tensors.ts'
import {
  type GgufTensor,
  type GgufValue,
  writeGguf,
} from '../../../test/conformance/testing/writers/gguf-writer.ts'

/** Keys whose numbers are floats even if their value is whole. */
const FLOATS = /epsilon|freq_base|scale|scores/
/** Number of elements converted at a time. */
const SLAB = 1 << 20

export async function writeF16Copy(from: string, to: string): Promise<void> {
  const { metadata, tensors } = await readGguf(blobSource(basename(from), await openAsBlob(from)))
  const contents = {
    metadata: Object.fromEntries([...metadata].map(([key, value]) => [key, typed(key, value)])),
    tensors: [...tensors.values()].map(copied),
  }
  // Written under another name first, because a partial copy must not be mistaken for a complete one.
  await pipeline(Readable.from(writeGguf(contents)), createWriteStream(`${to}.draft`))
  await rename(`${to}.draft`, to)
}

function copied(tensor: TensorInfo): GgufTensor {
  const { name, dtype, shape, source, offset, byteLength, coding } = tensor
  if (dtype === 'F32')
    return {
      name,
      dtype,
      shape,
      data: async function* () {
        yield await source.read(offset, byteLength)
      },
    }
  async function* data(): AsyncGenerator<Uint8Array> {
    const elements = (byteLength / BLOCKS[dtype].bytes) * BLOCKS[dtype].elements
    for (let at = 0; at < elements; at += SLAB) {
      const count = Math.min(SLAB, elements - at)
      const bytes = await source.read(offset + rowBytes(dtype, at), rowBytes(dtype, count))
      const values = new Float32Array(count)
      dequantize(storedRows(dtype, bytes, coding), 0, count, values, 0)
      yield new Uint8Array(Uint16Array.from(values, floatToHalf).buffer)
    }
  }
  return { name, dtype: 'F16', shape, data }
}

/** Metadata values, with the types that llama.cpp requires. */
function typed(key: string, value: MetaValue): GgufValue {
  const isFloat = FLOATS.test(key)
  if (typeof value === 'string') return ['string', value]
  if (typeof value === 'boolean') return ['bool', value]
  if (typeof value === 'number') return [isFloat || !Number.isInteger(value) ? 'f32' : 'u32', value]
  const list: readonly MetaValue[] = Array.isArray(value) ? value : []
  if (list.every((each) => typeof each === 'string')) return ['string[]', list]
  if (list.every((each) => typeof each === 'number')) return [isFloat ? 'f32[]' : 'i32[]', list]
  throw new Error(`${key} is a list of something other than strings or numbers`)
}
