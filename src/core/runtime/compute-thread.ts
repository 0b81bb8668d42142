// The loop of a compute worker that is a thread on shared memory, and its messages to and from the pool.
import { reasonOf } from '../base/errors.ts'
import type { SyncReader } from '../store/device/sync-file.ts'
import { type EngineExports, instantiateEngine } from './module.ts'
import { type PieceReader, type PlaceRequest, placePieces } from './place-pieces.ts'

/**
 * Memory that the first thread will fill. The operating system provides a page at its first access, which
 * takes longer than filling it, so other threads access the pages before. They stop when the word at `until`
 * changes.
 */
interface PagesAhead {
  readonly begin: number
  readonly end: number
  /** Address of a word that is 0 so far. */
  readonly until: number
  /** Bytes that this thread skips between two of its pieces, because other threads take them. */
  readonly skip: number
}

/** From the pool to a compute worker. `start` comes first, and only once. */
export type ComputeRequest =
  | {
      readonly type: 'start'
      readonly module: WebAssembly.Module
      readonly memory: WebAssembly.Memory
      /** End of this thread's stack, which grows downward. */
      readonly stackTop: number
      readonly ahead?: PagesAhead | undefined
      /** Weights that this thread helps to place before it serves. */
      readonly place?: PlaceRequest | undefined
    }
  /** Keeps the worker in `serve` until the sync block's `quit` is set. */
  | { readonly type: 'serve'; readonly sync: number; readonly thread: number }

/** From a compute worker to the pool. */
export type ComputeReply =
  /** The module is instantiated, and the worker waits for `serve`. */
  | { readonly type: 'ready' }
  /** `serve` ended, as requested. */
  | { readonly type: 'idle' }
  /** A kernel trapped, or the module did not fit. The sync block is poisoned. */
  | { readonly type: 'failed'; readonly message: string }

const PAGE_BYTES = 4096
/** Bytes that one thread accesses before the next one's piece begins. */
export const PIECE_BYTES = 1 << 20

/**
 * From the end, because the first thread fills from the beginning. Adds zero, because it may be writing the
 * page.
 */
function accessPages({ buffer }: WebAssembly.Memory, { begin, end, until, skip }: PagesAhead): void {
  const words = new Int32Array(buffer)
  for (let last = end; last > begin; last -= PIECE_BYTES + skip) {
    if (Atomics.load(words, until / 4) !== 0) return
    const first = Math.max(last - PIECE_BYTES, begin)
    for (let at = first; at < last; at += PAGE_BYTES) Atomics.add(words, at / 4, 0)
  }
}

/** Opens the file of a `SharedFile.entry`. Undefined if this thread cannot. */
export type OpenEntry = (entry: unknown) => Promise<SyncReader | undefined>

/** Places weights with the others. If a file cannot be opened, the others place all of them. */
async function helpPlacing(
  engine: EngineExports,
  memory: WebAssembly.Memory,
  { files, ...request }: PlaceRequest,
  openEntry: OpenEntry,
): Promise<void> {
  const opened = await Promise.all(files.map(({ entry }) => openEntry(entry).catch(() => undefined)))
  try {
    const readers = opened.flatMap((reader, index) =>
      reader === undefined ? [] : [wholeReader(reader, files[index]?.isSummed === true)],
    )
    if (readers.length === files.length) placePieces(engine, memory, request, readers)
  } finally {
    for (const reader of opened) reader?.close()
  }
}

const wholeReader = (reader: SyncReader, isSummed: boolean): PieceReader => ({
  isSummed,
  read(target, offset) {
    for (let done = 0; done < target.byteLength; ) {
      const count = reader.read(target.subarray(done), { at: offset + done })
      if (count === 0) throw new Error(`the file ends at byte ${offset + done}`)
      done += count
    }
  },
})

/**
 * Handles the requests to a compute worker. `post` sends replies to the pool. `openEntry`: default none, and
 * the thread then places no weights.
 */
export function computeThread(
  post: (reply: ComputeReply) => void,
  openEntry: OpenEntry = async () => undefined,
): (request: ComputeRequest) => Promise<void> {
  let engine: EngineExports | undefined
  let placing: Promise<void> | undefined
  let serving = 0
  return async (request) => {
    try {
      if (request.type === 'start') {
        const { module, memory, stackTop, ahead, place } = request
        engine = instantiateEngine(module, memory)
        engine.__stack_pointer.value = stackTop
        post({ type: 'ready' })
        if (ahead !== undefined) accessPages(memory, ahead)
        if (place !== undefined) placing = helpPlacing(engine, memory, place, openEntry)
        await placing
        return
      }
      // The request to serve may arrive while files are being opened.
      await placing
      if (engine === undefined) throw new Error('serve came before start')
      serving = request.sync
      engine.serve(request.sync, request.thread)
      serving = 0
      post({ type: 'idle' })
    } catch (error) {
      if (serving !== 0) engine?.poison(serving)
      post({ type: 'failed', message: reasonOf(error) })
    }
  }
}
