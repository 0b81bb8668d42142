// Work files. In: nothing. Out: what a long job needs to put things down between its steps and find them
// again.

import { type ByteSource, bufferSource } from '../../base/bytes.ts'

export type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Files by name. A file is there as a whole or not at all, also after the process was killed. */
export interface WorkFiles {
  /** Undefined if there is no such file. */
  open(name: string): Promise<ByteSource | undefined>
  /** Throws `storage-full` when there is no room; the file is then not there. */
  write(name: string, chunks: Chunks): Promise<void>
  remove(name: string): Promise<void>
}

/** Files in memory, for models that are small. */
export function memoryWork(): WorkFiles {
  const files = new Map<string, Uint8Array>()
  return {
    async open(name) {
      const bytes = files.get(name)
      return bytes && bufferSource(name, bytes)
    },
    async write(name, chunks) {
      const parts: Uint8Array[] = []
      for await (const chunk of chunks) parts.push(chunk.slice())
      files.set(name, new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer()))
    },
    async remove(name) {
      files.delete(name)
    },
  }
}

/** The whole file; undefined if there is none. */
export async function readWork(files: WorkFiles, name: string): Promise<Uint8Array | undefined> {
  const source = await files.open(name)
  return source?.read(0, source.size)
}

/** Files under other names, for a walk whose rows lie beside those of the next. */
export const prefixed = (work: WorkFiles, prefix: string): WorkFiles => ({
  open: (name) => work.open(prefix + name),
  write: (name, chunks) => work.write(prefix + name, chunks),
  remove: (name) => work.remove(prefix + name),
})
