// Opens a model's files as sources that fetch only what is read, and counts the bytes that a load would
// download.
import { type ByteSource, checkRange } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { GRAPH_FOLDER, type GraphFiles } from '../../formats/names/graph-files.ts'
import type { Place } from '../../formats/names/named-files.ts'
import { fileName, type RemoteFile } from '../address.ts'
import { ModelStore, type StoredFile } from '../device/model-store.ts'
import { hubHeaders, WEIGHTS } from '../hub.ts'
import { mendedSource } from '../mended.ts'
import { absenceOf, lostError } from '../missing.ts'
import { type OpenOptions, openEach, openUnstored, withoutFile } from '../open-address.ts'
import { type FileSize, peekGraphs, peekSize } from './peek-graphs.ts'
import { openRanges } from './ranges.ts'
import { type BodyOptions, bodyLength, endedEarly, missingFile, pieces, request } from './request.ts'

export interface Peeked {
  readonly sources: readonly ByteSource[]
  /** Bytes of the weight files that are not on this device, including those found to be damaged so far. */
  readonly downloadBytes: number
  /** The graphs of a folder whose weights are one of them. Absent if it has no graphs, or other weights. */
  readonly graphs?: (() => Promise<readonly GraphFiles[]>) | undefined
  /** Closes the connections. */
  close(): Promise<void>
}

type PeekOptions = Omit<OpenOptions, 'onProgress' | 'stallMs'>

/** A header takes about 100 KB without a vocabulary, and a few MB with one. */
const BLOCK_BYTES = 512 << 10
/** Maximum bytes kept of a file that its server can only send from the start. Headers are shorter. */
const LONGEST_BEGINNING = 256 << 20
/** Apart from the weights, only these files are needed. A vocabulary can be as large as a small model. */
const CONFIG = /(^|\/)(config\.json|model\.safetensors\.index\.json)$/

/**
 * Stores nothing. Throws the same errors as `openAddress`, and `unsupported` for a server that sends no size.
 */
export async function peekAddress(address: Place, options: PeekOptions = {}): Promise<Peeked> {
  const store = options.cache === 'none' ? undefined : await ModelStore.open(options.device)
  const known = (await store?.known()) ?? []
  const streams: Beginning[] = []
  const opened: ByteSource[] = []
  /** The requested sizes of weight files; undefined for files that the server lacks. */
  const asked = new Map<string, FileSize | undefined>()
  let downloadBytes = 0
  const close = async () => {
    for (const stored of opened) stored.close?.()
    await Promise.all(streams.map((stream) => stream.close()))
  }
  const toldOf = (url: string) => ({ ...options, headers: hubHeaders(url, options.hub) })
  /** A file on the server, part of which may be stored. */
  const asWhole = (url: string, bytes: number | undefined): FileSize | undefined =>
    bytes === undefined ? undefined : { bytes, downloadBytes: bytes - partOf(known, url) }
  const fetched = ({ url }: RemoteFile): Promise<ByteSource | undefined> => {
    const told = toldOf(url)
    return WEIGHTS.test(fileName(url)) ? openWeights(url, told, streams) : openUnstored(url, told)
  }
  const openOne = async (file: RemoteFile): Promise<ByteSource | undefined> => {
    const { url, optional } = file
    const isWeights = WEIGHTS.test(fileName(url))
    if (!isWeights && !CONFIG.test(fileName(url)) && optional) return undefined
    if (/^tokenizer\.(json|model)$/.test(fileName(url))) return undefined
    const stored = await store?.openStored(url)
    if (stored !== undefined) {
      // The next load repairs the stored file.
      const mended = mendedSource(stored, async ({ start, end }) => {
        const renewed = await fetched(file).catch((error) => {
          throw lostError(url, error)
        })
        if (renewed === undefined) throw missingFile(url)
        if (isWeights) downloadBytes += end - start
        return renewed
      })
      opened.push(mended)
      return mended
    }
    const absence = absenceOf(address, file, known)
    if (absence === 'noted' || absence === 'assumed') return withoutFile(file)
    const source = await fetched(file)
    if (isWeights) {
      const size = asWhole(url, source?.size)
      asked.set(url, size)
      downloadBytes += size?.downloadBytes ?? 0
    }
    return source ?? withoutFile(file)
  }
  try {
    const sources = await openEach(address, options, openOne)
    const sizeOf = async (url: string): Promise<FileSize | undefined> => {
      if (asked.has(url)) return asked.get(url)
      const stored = known.find((each) => each.url === url && each.isComplete)
      return stored
        ? { bytes: stored.size, downloadBytes: 0 }
        : asWhole(url, await peekSize(url, toldOf(url)))
    }
    const isOfGraphs = sources.some((each) => each.address?.startsWith(address + GRAPH_FOLDER))
    return {
      sources,
      graphs: isOfGraphs ? () => peekGraphs(address, sizeOf) : undefined,
      get downloadBytes() {
        return downloadBytes
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Bytes that an unfinished download has stored. */
const partOf = (files: readonly StoredFile[], url: string): number =>
  files.find((file) => file.url === url && !file.isComplete)?.size ?? 0

type WeightOptions = PeekOptions & { readonly headers: Readonly<Record<string, string>> }

async function openWeights(
  url: string,
  options: WeightOptions,
  streams: Beginning[],
): Promise<ByteSource | undefined> {
  const found = await openRanges(url, { ...options, blockBytes: BLOCK_BYTES })
  if (found !== 'refused' && !(found instanceof Response)) return found
  const response = found === 'refused' ? await request(url, options) : found
  if (response === undefined) return undefined
  const stream = new Beginning(url, response, options)
  streams.push(stream)
  return stream
}

/** A file on a server without ranges. Holds its first bytes, as far as they have been requested. */
class Beginning implements ByteSource {
  readonly name: string
  readonly size: number
  readonly #pieces: AsyncGenerator<Uint8Array, void>
  readonly #body: Response['body']
  #bytes = new Uint8Array(BLOCK_BYTES)
  #loaded = 0

  constructor(url: string, response: Response, options: BodyOptions) {
    this.name = fileName(url)
    this.size = bodyLength(response)
    this.#pieces = pieces(url, response, options)
    this.#body = response.body
    if (this.size > 0) return
    void response.body?.cancel()
    throw new HalfbyteError(
      'unsupported',
      `${this.name}: the server does not report a size, so the model cannot be inspected before downloading; load it`,
    )
  }

  async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    checkRange(this, offset, length)
    if (offset + length > LONGEST_BEGINNING) {
      throw new HalfbyteError(
        'unsupported',
        `${this.name}: byte ${offset} is part of the header, but the server does not support range requests; load the model instead`,
      )
    }
    while (this.#loaded < offset + length) {
      signal?.throwIfAborted()
      const { done, value } = await this.#pieces.next()
      if (done === true) break
      this.#take(value)
    }
    if (this.#loaded >= offset + length) return this.#bytes.slice(offset, offset + length)
    throw endedEarly(this.name, this.#loaded, this.size)
  }

  async close(): Promise<void> {
    await this.#pieces.return().catch(() => undefined)
    // If nothing was read, the body is still open.
    await this.#body?.cancel().catch(() => undefined)
  }

  #take(value: Uint8Array): void {
    const end = this.#loaded + value.byteLength
    if (end > this.#bytes.byteLength) {
      const grown = new Uint8Array(Math.max(end, 2 * this.#bytes.byteLength))
      grown.set(this.#bytes.subarray(0, this.#loaded))
      this.#bytes = grown
    }
    this.#bytes.set(value, this.#loaded)
    this.#loaded = end
  }
}
