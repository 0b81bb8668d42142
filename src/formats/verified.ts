// Verified reads. In: a tensor's range in a file and the hashes of its chunks. Out: a source that only yields what matches.
import { type ByteSource, checkRange } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { sha256 } from '../base/sha256.ts'
import { shown } from './malformed.ts'
import type { TensorInfo } from './tensors.ts'

/** The tensor's bytes from 0 on. Reads throw `integrity` when a chunk differs from its hash. */
export function verifiedSource(
  tensor: TensorInfo,
  hashes: readonly string[],
  chunkBytes: number,
): ByteSource {
  const { source, offset: start, byteLength: size } = tensor
  // Slabs rarely end where a chunk does: the chunk they share is neither read nor hashed twice.
  let last: { readonly index: number; readonly bytes: Uint8Array } | undefined

  const chunk = async (index: number, signal?: AbortSignal): Promise<Uint8Array> => {
    if (last?.index === index) return last.bytes
    const from = index * chunkBytes
    const bytes = await source.read(start + from, Math.min(chunkBytes, size - from), signal)
    if ((await sha256(bytes)) !== hashes[index]) {
      throw new HalfbyteError(
        'integrity',
        `${source.name}: bytes ${start + from} to ${start + from + bytes.length} (${shown(tensor.name)}) do not match ` +
          'their hash; fetch it again',
        { file: source.name, tensor: tensor.name, start: start + from, end: start + from + bytes.length },
      )
    }
    last = { index, bytes }
    return bytes
  }

  return {
    name: source.name,
    size,
    async read(offset, length, signal) {
      signal?.throwIfAborted()
      checkRange({ name: source.name, size }, offset, length)
      const first = Math.floor(offset / chunkBytes)
      const inFirst = offset - first * chunkBytes
      if (inFirst + length <= chunkBytes) {
        return length === 0
          ? new Uint8Array(0)
          : (await chunk(first, signal)).subarray(inFirst, inFirst + length)
      }
      const out = new Uint8Array(length)
      for (let index = first; index * chunkBytes < offset + length; index++) {
        const from = Math.max(offset, index * chunkBytes)
        const to = Math.min(offset + length, (index + 1) * chunkBytes)
        const bytes = await chunk(index, signal)
        out.set(bytes.subarray(from - index * chunkBytes, to - index * chunkBytes), from - offset)
      }
      return out
    },
  }
}
