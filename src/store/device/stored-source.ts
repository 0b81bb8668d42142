// Stored sources. In: a file of the origin's private file system. Out: its bytes, read straight to where they
// are wanted.
import { type ByteSource, blobSource, filledSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { openSyncReader, type SyncReader } from './sync-file.ts'

/**
 * `isChecked`: its bytes were compared with their hashes since they were stored. Where there are no handles
 * it is read as a File.
 */
export async function storedSource(
  name: string,
  handle: FileSystemFileHandle,
  isChecked: boolean,
): Promise<ByteSource> {
  const reader = await openSyncReader(handle)
  if (reader === undefined) return { ...blobSource(name, await handle.getFile()), isChecked }
  return {
    ...filledSource(name, reader.getSize(), (target, offset) => fill(reader, name, target, offset)),
    isChecked,
    close: () => reader.close(),
  }
}

function fill(reader: SyncReader, name: string, target: Uint8Array, offset: number): void {
  let done = 0
  while (done < target.byteLength) {
    const count = reader.read(target.subarray(done), { at: offset + done })
    if (count === 0) {
      throw new HalfbyteError(
        'integrity',
        `${name}: ${done} of ${target.byteLength} bytes could be read at ${offset}; it was changed, so load it again`,
        { file: name },
      )
    }
    done += count
  }
}
