// Split output. In: a pack as it is produced, and the largest size of a file. Out: numbered files that
// together hold it: all or none.
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { HalfbyteError } from '../../base/errors.ts'
import { splitName } from '../../formats/splits.ts'
import { systemError } from '../terminal/failure.ts'

/** Readers accept no more parts than this. */
const MOST_PARTS = 999

/** Receives the parts of a pack. */
export interface Parts {
  readonly paths: readonly string[]
  readonly bytes: number
}

/**
 * Cuts the bytes into `name-00001-of-00003.hbm` and so on, each of `partBytes` except the last. A pack that
 * fits in one part stays `name.hbm`. Files appear under their names once all are complete. `totalBytes`: size
 * of the whole pack, known from its first bytes. Throws `unsupported` for too many parts or a path that
 * cannot be written, `storage-full`, or the signal's reason.
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
      `the pack has ${totalBytes} bytes, which need ${count} parts of ${partBytes} bytes, but at most ${MOST_PARTS} parts are read; ` +
        `make parts of at least ${least} bytes`,
      { totalBytes, count },
    )
  }
  const first = `${path.replace(/\.hbm$/, '')}-00001-of-00001.hbm`
  return Array.from({ length: count }, (_, index) => splitName(first, index + 1, count))
}
