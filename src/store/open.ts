// Opening. In: a model's address, files or bytes. Out: its files as byte sources, stored for the next visit where possible.
import { type ByteSource, blobSource } from '../base/bytes.ts'
import { fileName, filesOf, type RemoteFile, shardsOf } from './address.ts'
import { blobSink, bodyLength, drain, missingFile, request } from './download.ts'
import { Opfs } from './opfs.ts'
import { openRanges } from './ranges.ts'

export interface FetchProgress {
  /** Bytes of all files so far, and of all files whose size is known. */
  readonly loaded: number
  readonly total: number
  /** True when every byte came from storage. */
  readonly cached: boolean
}

export interface OpenOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: FetchProgress) => void) | undefined
  /** Default `opfs`; storage that is refused or full falls back to memory only when it is refused. */
  readonly cache?: 'opfs' | 'none' | undefined
}

const WEIGHTS = /\.(gguf|hbm|safetensors)$/

/** Opens every file of `address`. Throws `network`, `storage-full` or the signal's reason. */
export async function openAddress(address: string, options: OpenOptions = {}): Promise<ByteSource[]> {
  const store = options.cache === 'none' ? undefined : await Opfs.open()
  const tally = new Tally(options.onProgress)
  const sources: ByteSource[] = []
  const open = async (files: readonly RemoteFile[]) => {
    for (const file of files) {
      const source = await openFile(file, store, tally, options.signal)
      if (source !== undefined) sources.push(source)
    }
  }
  await open(filesOf(address))
  if (address.endsWith('/')) {
    const index = sources.find((source) => source.name === 'model.safetensors.index.json')
    await open(shardsOf(address, await index?.read(0, index.size, options.signal)))
  }
  return sources
}

async function openFile(
  file: RemoteFile,
  store: Opfs | undefined,
  tally: Tally,
  signal: AbortSignal | undefined,
): Promise<ByteSource | undefined> {
  const { url } = file
  const stored = await store?.find(url)
  if (stored !== undefined) {
    tally.stored(stored.size)
    return blobSource(fileName(url), stored)
  }
  const onProgress = tally.file()
  // What is not stored need not be in memory as a whole either.
  const found =
    store === undefined && WEIGHTS.test(fileName(url))
      ? await openRanges(url, { signal, onProgress })
      : undefined
  if (found !== undefined && !(found instanceof Response)) return found
  const response = found ?? (await request(url, signal))
  if (response === undefined) {
    if (file.optional) return undefined
    throw missingFile(url)
  }
  const sink =
    (await store?.sink(url, bodyLength(response), response.headers.get('etag') ?? '')) ?? blobSink()
  return blobSource(fileName(url), await drain<Blob>(url, response, sink, { signal, onProgress }))
}

/** Adds up the progress of files, which may be read side by side. */
class Tally {
  readonly #report: OpenOptions['onProgress']
  readonly #files: { loaded: number; total: number }[] = []
  #cached = true

  constructor(report: OpenOptions['onProgress']) {
    this.#report = report
  }

  stored(size: number): void {
    this.#files.push({ loaded: size, total: size })
    this.#emit()
  }

  /** Takes the progress of one more file. */
  file(): (loaded: number, total: number) => void {
    const file = { loaded: 0, total: 0 }
    this.#files.push(file)
    return (loaded, total) => {
      this.#cached = false
      file.loaded = loaded
      file.total = Math.max(total, loaded)
      this.#emit()
    }
  }

  #emit(): void {
    const sum = (of: 'loaded' | 'total') => this.#files.reduce((all, file) => all + file[of], 0)
    this.#report?.({ loaded: sum('loaded'), total: sum('total'), cached: this.#cached })
  }
}
