// Split output. In: a pack as it is made, and how large a file may be. Out: numbered files that hold it together, all of them or none.
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { HalfbyteError } from '../base/errors.ts'
import { splitName } from '../formats/splits.ts'
import { systemError } from './failure.ts'

/** More than these no reader asks for. */
const MOST_PARTS = 999

/** Where parts of a pack end up. */
export interface Parts {
  readonly paths: readonly string[]
  readonly bytes: number
}

/**
 * Cuts what comes into `name-00001-of-00003.hbm` and so on, of `partBytes` each but the last; what is no longer than one
 * part stays `name.hbm`. Files appear under their names when all are complete. `totalBytes`: of everything, from the first
 * bytes that come. Throws `unsupported` for too many parts and places that cannot be written, `storage-full`, the signal's reason.
 */
export async function writeParts(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  partBytes: number,
  totalBytes: (head: Uint8Array) => number,
  signal?: AbortSignal,
): Promise<Parts> {
  let paths: readonly string[] = []
  let file: FileHandle | undefined
  let bytes = 0
  const begun: string[] = []
  try {
    for await (const chunk of chunks) {
      if (paths.length === 0) paths = partPaths(path, totalBytes(chunk), partBytes)
      for (let at = 0; at < chunk.length; ) {
        signal?.throwIfAborted()
        if (bytes === begun.length * partBytes) {
          await file?.close()
          const partial = `${paths[begun.length]}.part`
          begun.push(partial)
          file = await open(partial, 'w')
        }
        const count = Math.min(chunk.length - at, begun.length * partBytes - bytes)
        await file?.writeFile(chunk.subarray(at, at + count))
        at += count
        bytes += count
      }
    }
    signal?.throwIfAborted()
    await file?.close()
    for (const each of paths) {
      await rename(`${each}.part`, each)
      begun.push(each)
    }
    return { paths, bytes }
  } catch (error) {
    await file?.close().catch(() => undefined)
    for (const each of begun) await rm(each, { force: true }).catch(() => undefined)
    signal?.throwIfAborted()
    throw systemError(error, 'unsupported', `${path} cannot be written`, 'choose another place')
  }
}

function partPaths(path: string, totalBytes: number, partBytes: number): readonly string[] {
  const count = Math.ceil(totalBytes / partBytes)
  if (count <= 1) return [path]
  if (count > MOST_PARTS) {
    const least = Math.ceil(totalBytes / MOST_PARTS)
    throw new HalfbyteError(
      'unsupported',
      `the pack has ${totalBytes} bytes, which are ${count} parts of ${partBytes} where ${MOST_PARTS} are read; ` +
        `make them ${least} bytes or more`,
      { totalBytes, count },
    )
  }
  const first = `${path.replace(/\.hbm$/, '')}-00001-of-00001.hbm`
  return Array.from({ length: count }, (_, index) => splitName(first, index + 1, count))
}
