// Dropped files. In: what a browser exposes of a drop. Out: the files, and those directly in folders. It
// loads with the first drop.
import { filesOf, type Handle } from '../../models/device-files.ts'
import type { Dropped } from '../drop.ts'

export async function droppedFiles(items: readonly Dropped[]): Promise<readonly File[]> {
  return (await Promise.all(items.map(filesOfItem))).flat()
}

/** Uses its handle if there is one, so that a later visit can reopen the model files. */
async function filesOfItem({ file, entry, handle }: Dropped): Promise<readonly File[]> {
  const held = await handle
  if (held) return filesOf([held as Handle])
  if (entry?.isDirectory === true) return filesIn(entry as FileSystemDirectoryEntry)
  return file === null ? [] : [file]
}

async function filesIn(folder: FileSystemDirectoryEntry): Promise<readonly File[]> {
  const reader = folder.createReader()
  const entries: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    )
    if (some.length === 0) break
    entries.push(...some)
  }
  const files = entries.filter((entry) => entry.isFile) as FileSystemFileEntry[]
  return Promise.all(
    files.map((entry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject))),
  )
}
