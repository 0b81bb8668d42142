// Verified reads. In: a tensor's range in a file and the hashes of its chunks. Out: a source that only yields what matches.
import { type ByteSource, filledSource, readInto } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { sha256 } from '../base/sha256.ts'
import { shown } from './malformed.ts'
import type { TensorInfo } from './tensors.ts'

/** What the sources of one file share, so that they hold one chunk together and not one each. */
export interface SharedChunk {
  /** Slabs rarely end where a chunk does: the chunk they share is neither read nor hashed twice. */
  last?: { readonly at: number; readonly bytes: Uint8Array }
  /** Where a chunk is hashed on its way to shared memory. */
  passing?: Uint8Array
}

/** The tensor's bytes from 0 on. Reads throw `integrity` when a chunk differs from its hash. */
export function verifiedSource(
  tensor: TensorInfo,
  hashes: readonly string[],
  chunkBytes: number,
  shared: SharedChunk = {},
): ByteSource {
  const { source, offset: start, byteLength: size } = tensor
  const lengthOf = (index: number): number => Math.min(chunkBytes, size - index * chunkBytes)

  const check = async (index: number, bytes: Uint8Array): Promise<void> => {
    if ((await sha256(bytes)) === hashes[index]) return
    const from = start + index * chunkBytes
    throw new HalfbyteError(
      'integrity',
      `${source.name}: bytes ${from} to ${from + bytes.length} (${shown(tensor.name)}) do not match ` +
        'their hash; fetch it again',
      { file: source.name, tensor: tensor.name, start: from, end: from + bytes.length },
    )
  }

  const chunk = async (index: number, signal?: AbortSignal): Promise<Uint8Array> => {
    const at = start + index * chunkBytes
    if (shared.last?.at === at) return shared.last.bytes
    const bytes = await source.read(at, lengthOf(index), signal)
    await check(index, bytes)
    shared.last = { at, bytes }
    return bytes
  }

  /** A whole chunk. Hashing needs memory that no other thread can write. */
  const chunkInto = async (target: Uint8Array, index: number, signal?: AbortSignal): Promise<void> => {
    const isShared = !(target.buffer instanceof ArrayBuffer)
    if (isShared) shared.passing ??= new Uint8Array(chunkBytes)
    const bytes = isShared ? (shared.passing as Uint8Array).subarray(0, target.byteLength) : target
    await readInto(source, bytes, start + index * chunkBytes, signal)
    await check(index, bytes)
    if (isShared) target.set(bytes)
  }

  return filledSource(source.name, size, async (target, offset, signal) => {
    const end = offset + target.byteLength
    for (let index = Math.floor(offset / chunkBytes); index * chunkBytes < end; index++) {
      const at = index * chunkBytes
      const [from, to] = [Math.max(offset, at), Math.min(end, at + lengthOf(index))]
      const part = target.subarray(from - offset, to - offset)
      if (part.byteLength === lengthOf(index)) await chunkInto(part, index, signal)
      else part.set((await chunk(index, signal)).subarray(from - at, to - at))
    }
  })
}
