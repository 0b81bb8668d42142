// Opening. In: a model's address. Out: its files as byte sources, stored for the next visit where possible.
import { type ByteSource, blobSource } from '../base/bytes.ts'
import { fileName, filesOf, type RemoteFile, shardsOf } from './address.ts'
import { Opfs } from './opfs.ts'
import { openRanges } from './ranges.ts'
import { bodyLength, missingFile, pieces, request } from './request.ts'
import { type RetryOptions, retrying } from './retry.ts'
import { type FetchProgress, Tally } from './tally.ts'
import { transfer } from './transfer.ts'

export type { FetchProgress } from './tally.ts'

export interface OpenOptions extends RetryOptions {
  readonly onProgress?: ((progress: FetchProgress) => void) | undefined
  /** Default `opfs`; storage that is refused or full falls back to memory only when it is refused. */
  readonly cache?: 'opfs' | 'none' | undefined
  /** Silence after which a connection counts as broken, in milliseconds; default 30 000. */
  readonly stallMs?: number | undefined
}

const WEIGHTS = /\.(gguf|hbm|safetensors)$/

/** Opens every file of `address`. Throws `network`, `integrity`, `storage-full` or the signal's reason. */
export async function openAddress(address: string, options: OpenOptions = {}): Promise<ByteSource[]> {
  const store = options.cache === 'none' ? undefined : await Opfs.open()
  const tally = new Tally(options.onProgress)
  const sources: ByteSource[] = []
  const open = async (files: readonly RemoteFile[]) => {
    for (const file of files) {
      const source = await openFile(file, store, tally, options)
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
  options: OpenOptions,
): Promise<ByteSource | undefined> {
  const { url } = file
  const stored = await store?.find(url)
  if (stored !== undefined) {
    tally.stored(stored.size)
    await store?.touch(url)
    return blobSource(fileName(url), stored)
  }
  const onProgress = tally.file()
  const filled = await store?.fill(url, (part) => transfer(url, part, { ...options, onProgress }), {
    signal: options.signal,
    onWait: onProgress,
  })
  const source =
    filled === undefined
      ? await openUnstored(url, { ...options, onProgress })
      : filled.file && blobSource(fileName(url), filled.file)
  if (source === undefined && !file.optional) throw missingFile(url)
  return source
}

type UnstoredOptions = Omit<OpenOptions, 'onProgress'> & {
  readonly onProgress: (loaded: number, total: number) => void
}

/** What is not stored need not be in memory as a whole either, where the server answers ranges. */
async function openUnstored(url: string, options: UnstoredOptions): Promise<ByteSource | undefined> {
  const found = WEIGHTS.test(fileName(url)) ? await openRanges(url, options) : undefined
  if (found !== undefined && !(found instanceof Response)) return found
  let ready = found
  return retrying(async () => {
    const response = ready ?? (await request(url, options.signal))
    ready = undefined
    if (response === undefined) return undefined
    const total = bodyLength(response)
    const parts: Uint8Array<ArrayBuffer>[] = []
    let loaded = 0
    for await (const bytes of pieces(url, response, options)) {
      parts.push(new Uint8Array(bytes))
      loaded += bytes.byteLength
      options.onProgress(loaded, total)
    }
    // The browser may move a Blob to disk.
    return blobSource(fileName(url), new Blob(parts))
  }, options)
}
