// Storage folders. In: a folder's name, or what a file is kept under. Out: the folder in the origin's private file system, a file name.
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
