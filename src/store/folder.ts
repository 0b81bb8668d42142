// Storage folders. In: a folder's name, or a key. Out: the folder in the origin's private file system, or a
// file in it.
import { sha256 } from '../base/sha256.ts'

/**
 * Opens a folder. Undefined without such storage, or when the browser refuses it (private windows, pages
 * without TLS).
 */
export async function openFolder(name: string): Promise<FileSystemDirectoryHandle | undefined> {
  try {
    const root = await navigator.storage.getDirectory()
    return await root.getDirectoryHandle(name, { create: true })
  } catch {
    return undefined
  }
}

/** A file name of 32 hex digits, made from any text, such as an address. */
export const fileKey = async (text: string): Promise<string> =>
  (await sha256(new TextEncoder().encode(text))).slice(0, 32)

/** Returns undefined when the file does not exist. */
export async function readFile(folder: FileSystemDirectoryHandle, entry: string): Promise<File | undefined> {
  try {
    return await (await folder.getFileHandle(entry)).getFile()
  } catch {
    return undefined
  }
}

/**
 * The unchecked fields of a JSON file. A file that is missing, was not written completely or holds something
 * else has no fields.
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
