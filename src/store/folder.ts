// Storage folders. In: a folder's name, or what a file is kept under. Out: the folder in the origin's private file system, a file's name, what is in it.
import { sha256 } from '../base/sha256.ts'

/** Undefined where there is no such storage, or the browser refuses it (private windows, pages without TLS). */
export async function openFolder(name: string): Promise<FileSystemDirectoryHandle | undefined> {
  try {
    const root = await navigator.storage.getDirectory()
    return await root.getDirectoryHandle(name, { create: true })
  } catch {
    return undefined
  }
}

/** 32 hex digits that stand for an address or a name of any length and letters. */
export const fileKey = async (text: string): Promise<string> =>
  (await sha256(new TextEncoder().encode(text))).slice(0, 32)

/** Undefined when it is not there. */
export async function readFile(folder: FileSystemDirectoryHandle, entry: string): Promise<File | undefined> {
  try {
    return await (await folder.getFileHandle(entry)).getFile()
  } catch {
    return undefined
  }
}

/**
 * The fields of a file's JSON, of which nothing is believed yet: a file that is not there, was not written to its end or holds
 * something else has none.
 */
export async function readFields(
  folder: FileSystemDirectoryHandle,
  entry: string,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    return Object(JSON.parse((await (await readFile(folder, entry))?.text()) ?? ''))
  } catch {
    return {}
  }
}
