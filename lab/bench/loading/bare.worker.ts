// Measures how long it takes just to read the largest file in the origin private file system.

/** Milliseconds, by method of reading. */
export interface BareRead {
  readonly bytes: number
  /** With a sync access handle, 4 MB at a time, into one buffer. */
  readonly reusedMs: number
  /** The same into untouched WebAssembly memory, like a model's. */
  readonly freshMs: number
  /** As slices of the File, each a separate ArrayBuffer. */
  readonly slicesMs: number
}

interface SyncHandle {
  read(bytes: Uint8Array, options: { readonly at: number }): number
  close(): void
}

const PIECE_BYTES = 4 << 20

async function largest(): Promise<FileSystemFileHandle> {
  const root = await navigator.storage.getDirectory()
  const folder = await root.getDirectoryHandle('halfbyte-models')
  let best: { readonly handle: FileSystemFileHandle; readonly size: number } | undefined
  for await (const handle of folder.values()) {
    if (handle.kind !== 'file') continue
    const { size } = await (handle as FileSystemFileHandle).getFile()
    if (size > (best?.size ?? 0)) best = { handle: handle as FileSystemFileHandle, size }
  }
  if (best === undefined) throw new Error('nothing is stored')
  return best.handle
}

async function run(): Promise<BareRead> {
  const handle = await largest()
  const sync = await (
    handle as unknown as { createSyncAccessHandle(): Promise<SyncHandle> }
  ).createSyncAccessHandle()
  const file = await handle.getFile()
  const bytes = file.size
  const timed = (target: (at: number, length: number) => Uint8Array): number => {
    const start = performance.now()
    for (let at = 0; at < bytes; at += PIECE_BYTES) {
      sync.read(target(at, Math.min(PIECE_BYTES, bytes - at)), { at })
    }
    return performance.now() - start
  }
  const buffer = new Uint8Array(PIECE_BYTES)
  const memory = new Uint8Array(new WebAssembly.Memory({ initial: Math.ceil(bytes / 65536) }).buffer)
  const reusedMs = timed((_, length) => buffer.subarray(0, length))
  const freshMs = timed((at, length) => memory.subarray(at, at + length))
  sync.close()
  const start = performance.now()
  for (let at = 0; at < bytes; at += PIECE_BYTES) await file.slice(at, at + PIECE_BYTES).arrayBuffer()
  return { bytes, reusedMs, freshMs, slicesMs: performance.now() - start }
}

run().then(
  (read) => postMessage(read),
  (error) =>
    setTimeout(() => {
      throw error
    }),
)
