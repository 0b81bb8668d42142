// Verified reads. In: a tensor's range in a file, its chunks' hashes. Out: a source that yields only matching
// bytes.
import { type ByteSource, filledSource, readInto } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { sha256 } from '../../base/sha256.ts'
import { shown } from '../malformed.ts'
import type { TensorInfo } from '../tensors.ts'

/** Memory that the sources of one file share: they hold one chunk together instead of one each. */
export interface SharedChunk {
  /** Slabs rarely end where a chunk ends. Keeping the last chunk avoids reading and hashing it twice. */
  last?: { readonly at: number; readonly bytes: Uint8Array }
  /** Buffer in which a chunk is hashed before it is copied to shared memory. */
  passing?: Uint8Array
}

/**
 * How often wrong bytes are fetched again before giving up. The first new fetch may hit another transfer
 * error.
 */
const RENEWALS = 2

/**
 * Returns the bytes [start, end) from `read` once they are right. Wrong bytes are fetched again if they came
 * from a network. Throws `integrity` when they stay wrong, and the errors of fetching.
 */
export async function readMatching(
  source: ByteSource,
  [start, end, what]: readonly [number, number, string],
  read: () => Promise<Uint8Array>,
  isRight: (bytes: Uint8Array) => Promise<boolean>,
): Promise<Uint8Array> {
  for (let renewals = 0; ; renewals++) {
    const bytes = await read()
    if (await isRight(bytes)) return bytes
    if (renewals === RENEWALS) {
      throw new HalfbyteError(
        'integrity',
        `${source.name}: bytes ${start} to ${end} (${what}) do not match their hash; download it again`,
        { file: source.name, start, end },
      )
    }
    await source.renew?.(start, end)
  }
}

/**
 * The tensor's bytes, from 0. Reads throw `integrity` when a chunk still differs from its hash after it was
 * renewed.
 */
export function verifiedSource(
  tensor: TensorInfo,
  hashes: readonly string[],
  chunkBytes: number,
  shared: SharedChunk = {},
): ByteSource {
  const { source, offset: start, byteLength: size } = tensor
  const lengthOf = (index: number): number => Math.min(chunkBytes, size - index * chunkBytes)

  const matching = (index: number, read: () => Promise<Uint8Array>): Promise<Uint8Array> => {
    const from = start + index * chunkBytes
    const isRight = async (bytes: Uint8Array) => (await sha256(bytes)) === hashes[index]
    return readMatching(source, [from, from + lengthOf(index), shown(tensor.name)], read, isRight)
  }

  const chunk = async (index: number, signal?: AbortSignal): Promise<Uint8Array> => {
    const at = start + index * chunkBytes
    if (shared.last?.at === at) return shared.last.bytes
    const bytes = await matching(index, () => source.read(at, lengthOf(index), signal))
    shared.last = { at, bytes }
    return bytes
  }

  /** Reads a whole chunk into `target`. Hashing needs memory that no other thread can write. */
  const chunkInto = async (target: Uint8Array, index: number, signal?: AbortSignal): Promise<void> => {
    const isShared = !(target.buffer instanceof ArrayBuffer)
    if (isShared) shared.passing ??= new Uint8Array(chunkBytes)
    const bytes = isShared ? (shared.passing as Uint8Array).subarray(0, target.byteLength) : target
    await matching(index, async () => {
      await readInto(source, bytes, start + index * chunkBytes, signal)
      return bytes
    })
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
