// Local files that a later visit can reopen. Browsers with file handles keep them in IndexedDB; others forget
// the files. The page loads this module when the user chooses or drops files, or did so during the last
// visit.
import { type DBSchema, openDB } from 'idb'

/** The DOM typings lack Chromium-only APIs. */
interface Permitted {
  queryPermission(options: { readonly mode: 'read' }): Promise<PermissionState>
  requestPermission(options: { readonly mode: 'read' }): Promise<PermissionState>
}

/** The handle of a file, or of a folder, which stands for the files directly in it. */
export type Handle = (FileSystemFileHandle | FileSystemDirectoryHandle) & Permitted

interface Picker {
  showOpenFilePicker(options: { readonly multiple: boolean }): Promise<readonly Handle[]>
}

interface Schema extends DBSchema {
  handles: { key: string; value: readonly Handle[] }
}

const LAST = 'last'
const READ = { mode: 'read' } as const

/** The handles of files picked or dropped during this visit. */
const handles = new WeakMap<File, Handle>()

const database = () =>
  openDB<Schema>('halfbyte-files', 1, { upgrade: (opened) => void opened.createObjectStore('handles') })

/** Opens the picker of a browser with file handles. Returns an empty list if the user closes it. */
export async function pickFiles(): Promise<readonly File[]> {
  try {
    return await filesOf(await (window as unknown as Picker).showOpenFilePicker({ multiple: true }))
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return []
    throw error
  }
}

/** Stores the handles of a model's files, replacing earlier ones. */
export async function keepFiles(files: readonly File[]): Promise<void> {
  const kept = files.map((file) => handles.get(file)).filter((handle) => handle !== undefined)
  const opened = await database()
  if (kept.length < files.length) await opened.delete('handles', LAST)
  else await opened.put('handles', [...new Set(kept)], LAST)
  opened.close()
}

/** The files of the last visit. */
interface KeptFiles {
  /** True if the browser opens the files without asking the user. */
  readonly isGranted: boolean
  /**
   * Returns the files, or undefined if the user declines or a file is gone. The browser may ask, so this
   * needs a user gesture.
   */
  open(): Promise<readonly File[] | undefined>
}

/** Returns undefined if no handles were stored. */
export async function keptFiles(): Promise<KeptFiles | undefined> {
  const opened = await database()
  const kept = await opened.get('handles', LAST)
  opened.close()
  if (kept === undefined) return undefined
  const states = await Promise.all(kept.map((handle) => handle.queryPermission(READ)))
  return {
    isGranted: states.every((state) => state === 'granted'),
    open: async () => {
      for (const handle of kept) if ((await handle.requestPermission(READ)) !== 'granted') return undefined
      return filesOf(kept).catch(() => undefined)
    },
  }
}

/** Opens the handles' files, and remembers each file's handle for `keepFiles`. */
export async function filesOf(given: readonly Handle[]): Promise<readonly File[]> {
  return (await Promise.all(given.map(filesOfHandle))).flat()
}

async function filesOfHandle(handle: Handle): Promise<readonly File[]> {
  const inside: FileSystemFileHandle[] = []
  if (handle.kind === 'file') inside.push(handle)
  else for await (const inner of handle.values()) if (inner.kind === 'file') inside.push(inner)
  const files = await Promise.all(inside.map((each) => each.getFile()))
  for (const file of files) handles.set(file, handle)
  return files
}
