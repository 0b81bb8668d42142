// Opens the files of a model's address as byte sources, and stores them for the next visit if possible.
import { type ByteSource, blobSource } from '../base/bytes.ts'
import { HalfbyteError, isHalfbyteError, reasonOf } from '../base/errors.ts'
import type { GraphDtype } from '../formats/names/graph-files.ts'
import type { Place } from '../formats/names/named-files.ts'
import { fileName, filesOf, graphOf, processorsOf, type RemoteFile, shardsOf } from './address.ts'
import type { Device } from './device/device.ts'
import { ModelStore } from './device/model-store.ts'
import { openRanges } from './download/ranges.ts'
import { bodyLength, missingFile, pieces, request } from './download/request.ts'
import { type Retry, type RetryOptions, retrying } from './download/retry.ts'
import { type DownloadProgress, Tally } from './download/tally.ts'
import { transfer } from './download/transfer.ts'
import { isNotFound } from './file-at.ts'
import { type Hub, hubHeaders, hubListing, lookupError, onlyGguf, WEIGHTS } from './hub.ts'
import { mendedSource } from './mended.ts'
import { absenceOf, lostError, mayBeMissing } from './missing.ts'

export interface OpenOptions extends RetryOptions {
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined
  /**
   * Default `opfs`. Files are kept in memory if the browser denies storage, but not if storage is full.
   */
  readonly cache?: 'opfs' | 'files' | 'none' | undefined
  /** Where files are stored. Default: the browser's private file system. */
  readonly device?: Device | undefined
  /** The hub's URL, and the token for private repositories. */
  readonly hub?: Hub | undefined
  /** The precision of the graph in a transformers.js repository. Default: the first precision that exists. */
  readonly dtype?: GraphDtype | undefined
  /**
   * `graph`: only a folder's ONNX graph, for programs that need no configuration or tokenizer. Default: all
   * files of a language model.
   */
  readonly wants?: 'graph' | undefined
  /** Milliseconds without data after which a connection counts as broken; default 30 000. */
  readonly stallMs?: number | undefined
}

/** Opens every file of `address`. Throws `network`, `integrity`, `storage-full` or the signal's reason. */
export async function openAddress(address: Place, options: OpenOptions = {}): Promise<ByteSource[]> {
  const store = options.cache === 'none' ? undefined : await ModelStore.open(options.device)
  // Read before the load, because the load stores config.json before it reaches a folder's optional files.
  const known = (mayBeMissing(address, address) && (await store?.known())) || []
  const tally = new Tally(options.onProgress)
  const told = { ...options, onRetry: (retry: Retry) => tally.retry(retry) }
  /** True if the server has been asked about each missing file. */
  let knowsMissing = true
  return openEach(address, told, async (file, left) => {
    tally.left = left
    const open = (others: Partial<OpenOptions> = {}) =>
      openFile(
        file,
        { store, tally, knowsMissing, notesMissing: mayBeMissing(address, file.url) },
        { ...told, ...others },
      )
    const absence = absenceOf(address, file, known)
    if (absence === 'noted') return withoutFile(file)
    if (absence === 'assumed') {
      if (!knowsMissing) return undefined
      // Looked up only once, because a stored model opens without a network.
      return open({ attempts: 1 }).catch((error) => {
        if (!isHalfbyteError(error) || error.code !== 'network') throw error
        knowsMissing = false
        return undefined
      })
    }
    return open().catch((error) => {
      throw absence === 'lost' ? lostError(file.url, error) : error
    })
  })
}

/** Undefined if an optional file is missing. Throws if a required file is. */
export function withoutFile({ url, optional }: RemoteFile): undefined {
  if (!optional) throw missingFile(url)
}

type EachOptions = RetryOptions & Pick<OpenOptions, 'hub' | 'dtype' | 'wants'>

/**
 * Opens the files of `address` in order, with `openOne`. Shards are found from their index. `left` is the
 * number of files that follow in the same list.
 */
export async function openEach(
  address: Place,
  options: EachOptions,
  openOne: (file: RemoteFile, left: number) => Promise<ByteSource | undefined>,
): Promise<ByteSource[]> {
  const sources: ByteSource[] = []
  const open = async (files: readonly RemoteFile[]) => {
    for (const [index, file] of files.entries()) {
      const left = files.length - 1 - index
      const source = await openOrInstead(file, (each) => openOne(each, left))
      if (source !== undefined) sources.push(source)
    }
  }
  if (options.wants === 'graph' && address.endsWith('/')) {
    await open([graphOf(address, options.dtype)]).catch((error) => {
      throw lookupError(isNotFound(error) ? noGraph(address, options.dtype) : error, address, options.hub)
    })
    return sources
  }
  const only = await open(filesOf(address))
    .then(
      () => undefined,
      (error) => onlyFile(address, error, options),
    )
    .catch((error) => {
      throw lookupError(error, address, options.hub)
    })
  if (only !== undefined) await open(filesOf(only))
  else if (address.endsWith('/')) {
    const read = (name: string) => {
      const source = sources.find((each) => each.name === name)
      return source?.read(0, source.size, options.signal)
    }
    await open(processorsOf(address, await read('config.json')))
    await open(shardsOf(address, await read('model.safetensors.index.json'), options.dtype))
  }
  return sources
}

const noGraph = (folder: Place, dtype: GraphDtype | undefined): HalfbyteError => {
  const { url } = graphOf(folder, dtype)
  const searched =
    dtype === undefined ? 'neither model.onnx nor a usual graph in onnx/' : `no onnx/${fileName(url)}`
  return new HalfbyteError(
    'network',
    `the folder has ${searched} (404); name its graph, as in owner/name:onnx/encoder_model.onnx`,
    { status: 404 },
  )
}

/** The file, or the first of its alternatives that exists. The error names the preferred one. */
async function openOrInstead(
  file: RemoteFile,
  openOne: (file: RemoteFile) => Promise<ByteSource | undefined>,
): Promise<ByteSource | undefined> {
  const { url, instead } = file
  if (instead === undefined) return at(url, await openOne(file))
  for (const each of [url, ...instead.slice(0, -1)]) {
    const source = await openOne({ ...file, url: each, optional: true })
    if (source !== undefined) return at(each, source)
  }
  const last = instead.at(-1) ?? url
  const source = await openOne({ url: last, optional: false }).catch((error) => {
    throw isNotFound(error) ? missingFile(url) : error
  })
  return at(last, source)
}

function at(address: string, source: ByteSource | undefined): ByteSource | undefined {
  if (source !== undefined) source.address = address
  return source
}

/**
 * The address of the only GGUF file in a hub folder without config.json. Throws `error` if there is no
 * listing.
 */
async function onlyFile(folder: Place, error: unknown, { hub, ...options }: EachOptions): Promise<Place> {
  const listing = isNotFound(error) ? hubListing(folder, hub) : undefined
  if (listing === undefined) throw error
  const list = () => request(listing, { ...options, headers: hubHeaders(listing, hub) })
  const response = await retrying(list, options, true)
  if (response === undefined) throw error
  return onlyGguf(await response.json().catch(() => undefined), folder)
}

interface Opening {
  readonly store: ModelStore | undefined
  readonly tally: Tally
  readonly knowsMissing: boolean
  readonly notesMissing: boolean
}

/** Opens a file as a source that can fetch damaged parts again. */
async function openFile(
  file: RemoteFile,
  opening: Opening,
  options: OpenOptions,
): Promise<ByteSource | undefined> {
  const source = await openOnce(file, opening, options)
  return (
    source &&
    mendedSource(source, async (lost) => {
      await opening.store?.doubt(file.url, lost)
      const renewed = await openOnce(file, { ...opening, tally: new Tally(undefined) }, options)
      if (renewed === undefined) throw missingFile(file.url)
      return renewed
    })
  )
}

async function openOnce(
  file: RemoteFile,
  { store, tally, knowsMissing, notesMissing }: Opening,
  options: OpenOptions,
): Promise<ByteSource | undefined> {
  const { url } = file
  const stored = await store?.openStored(url)
  if (stored !== undefined) {
    tally.stored(stored.size)
    await store?.touch(url, knowsMissing)
    return stored
  }
  const onProgress = tally.file()
  const headers = hubHeaders(url, options.hub)
  const filled = await store?.fill(url, (part) => transfer(url, part, { ...options, headers, onProgress }), {
    signal: options.signal,
    onWait: onProgress,
    notesMissing,
  })
  const source =
    filled === undefined
      ? await openUnstored(url, { ...options, headers, onProgress })
      : filled.file && ((await store?.openStored(url)) ?? blobSource(fileName(url), filled.file))
  return source ?? withoutFile(file)
}

/** Chromium fails only when the bytes are read, and without a disk it holds at most 2 GB. */
const notKept = (name: string, bytes: number, cause: unknown): HalfbyteError =>
  new HalfbyteError(
    'out-of-memory',
    `${name}: the browser could not hold the ${bytes} downloaded bytes (${reasonOf(cause)}); allow storing it (cache: 'opfs'), or use a server that supports ranges`,
    { file: name, bytes },
    { cause },
  )

type UnstoredOptions = Omit<OpenOptions, 'onProgress'> & {
  readonly headers: Readonly<Record<string, string>>
  readonly onProgress?: (loaded: number, total: number) => void
}

/** Opens a file without storing it. If the server supports ranges, the whole file is never in memory. */
export async function openUnstored(url: string, options: UnstoredOptions): Promise<ByteSource | undefined> {
  const found = WEIGHTS.test(fileName(url)) ? await openRanges(url, options) : 'refused'
  if (found !== 'refused' && !(found instanceof Response)) return found
  let ready = found === 'refused' ? undefined : found
  return retrying(
    async () => {
      const response = ready ?? (await request(url, options))
      ready = undefined
      if (response === undefined) return undefined
      const total = bodyLength(response)
      const parts: Uint8Array<ArrayBuffer>[] = []
      let loaded = 0
      for await (const bytes of pieces(url, response, options)) {
        parts.push(new Uint8Array(bytes))
        loaded += bytes.byteLength
        options.onProgress?.(loaded, total)
      }
      // A Blob, because the browser may move it to disk.
      return blobSource(fileName(url), new Blob(parts), (name, cause) => notKept(name, loaded, cause))
    },
    options,
    true,
  )
}
