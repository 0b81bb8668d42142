// A file on a server with byte ranges, as a source that fetches only what is read.
import { type ByteSource, checkRange, filledSource, release } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { LruCache } from '../../base/lru-cache.ts'
import { fileName } from '../address.ts'
import type { Version } from '../device/part-file.ts'
import {
  checkProgress,
  differenceOf,
  firstBytes,
  PROGRESS_BYTES,
  partOf,
  pieces,
  plainPart,
  type RequestOptions,
  request,
  tryRange,
} from './request.ts'
import { type RetryOptions, retrying } from './retry.ts'

/** Bytes in one request, chosen so that tensors that are close together need only one. */
const BLOCK_BYTES = 4 << 20
/**
 * Number of cached blocks. A layer's tensors are close together but rarely read in file order. With 8 blocks,
 * loading an int4 graph fetches 1 % less and uses 16 MB more memory.
 */
const KEPT_BLOCKS = 4
/** Maximum number of blocks per request. They take memory in addition to the cached ones. */
const RUN_BLOCKS = 2
/** Bytes fetched around an isolated read. */
const PAGE_BYTES = 64 << 10
const KEPT_PAGES = 16

export interface RangeOptions extends RequestOptions, RetryOptions {
  /** Bytes fetched so far, each counted once, and the file's size. */
  readonly onProgress?: ((loaded: number, total: number) => void) | undefined
  /** Bytes in one request; default 4 MB. */
  readonly blockBytes?: number | undefined
}

/**
 * Requests the first block, retrying where waiting may help. Returns a source, or the response itself if it
 * is the whole file because the server does not support ranges. `refused` means that ranges cannot be used or
 * the file is empty: request it without a range. Undefined if the file does not exist.
 */
export async function openRanges(
  url: string,
  options: RangeOptions = {},
): Promise<ByteSource | Response | 'refused' | undefined> {
  const { blockBytes = BLOCK_BYTES } = options
  const response = await retrying(
    () => tryRange(url, options, { start: 0, length: blockBytes }),
    options,
    true,
  )
  if (response === undefined || response === 'refused' || response.status === 200) return response
  const part = partOf(response)
  if (part?.start !== 0) {
    await response.body?.cancel()
    return 'refused'
  }
  const { size } = part.version
  const own = { name: fileName(url), size }
  const file = new RangeFile(url, part.version, options)
  // Bytes that do not arrive now are requested again when they are read.
  await file.accept(response, 0, Math.min(blockBytes, size)).catch(() => options.signal?.throwIfAborted())
  return {
    ...filledSource(own.name, size, (target, offset, signal = options.signal) =>
      file.readInto(target, offset, signal),
    ),
    async readAlone(offset, length, signal = options.signal) {
      checkRange(own, offset, length)
      return file.readAlone(offset, length, signal)
    },
  }
}

/** `length` bytes from `start`, of which the first `filled` have arrived. Each chunk is a separate array. */
interface Run {
  readonly start: number
  readonly length: number
  readonly pieces: readonly Uint8Array[]
  readonly pieceBytes: number
  filled: number
}

function newRun(start: number, length: number, pieceBytes: number): Run {
  const pieces = Array.from(
    { length: Math.ceil(length / pieceBytes) },
    (_, index) => new Uint8Array(Math.min(pieceBytes, length - index * pieceBytes)),
  )
  return { start, length, pieces, pieceBytes, filled: 0 }
}

function append(run: Run, bytes: Uint8Array): void {
  for (let from = 0; from < bytes.byteLength; ) {
    const piece = run.pieces[Math.floor(run.filled / run.pieceBytes)]!
    const at = run.filled % run.pieceBytes
    const part = bytes.subarray(from, from + piece.byteLength - at)
    piece.set(part, at)
    from += part.byteLength
    run.filled += part.byteLength
  }
}

class RangeFile {
  readonly #url: string
  readonly #version: Version
  readonly #options: RangeOptions
  readonly #blockBytes: number
  /** By number. */
  readonly #blocks = new LruCache<number, Uint8Array>(KEPT_BLOCKS, release)
  readonly #seen = new Set<number>()
  /** By number. */
  readonly #pages = new LruCache<number, Uint8Array>(KEPT_PAGES)
  readonly #seenPages = new Set<number>()
  #loaded = 0

  constructor(url: string, version: Version, options: RangeOptions) {
    this.#url = url
    this.#version = version
    this.#options = options
    this.#blockBytes = options.blockBytes ?? BLOCK_BYTES
  }

  /** Does not fetch a block for a range within one page. */
  async readAlone(offset: number, length: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const page = Math.floor(offset / PAGE_BYTES)
    const from = offset - page * PAGE_BYTES
    const isKept = this.#blocks.has(Math.floor(offset / this.#blockBytes))
    if (isKept || from + length > PAGE_BYTES) {
      const bytes = new Uint8Array(length)
      await this.readInto(bytes, offset, signal)
      return bytes
    }
    signal?.throwIfAborted()
    return (await this.#page(page, signal)).slice(from, from + length)
  }

  async readInto(target: Uint8Array, offset: number, signal: AbortSignal | undefined): Promise<void> {
    const blockBytes = this.#blockBytes
    const length = target.byteLength
    const last = Math.ceil((offset + length) / blockBytes) - 1
    // Copied as soon as the bytes are there, because a parallel read may evict the block.
    const take = (index: number, block: Uint8Array) => {
      const from = Math.max(0, offset - index * blockBytes)
      target.set(
        block.subarray(from, offset + length - index * blockBytes),
        index * blockBytes + from - offset,
      )
    }
    for (let index = Math.floor(offset / blockBytes); index <= last; ) {
      signal?.throwIfAborted()
      const kept = this.#blocks.get(index)
      if (kept === undefined) index = await this.#fetchRun(index, last, take, signal)
      else {
        take(index, kept)
        index++
      }
    }
  }

  /**
   * Reads a response whose bytes begin at `start`, the start of a block, and fetches the rest up to `end`.
   */
  async accept(response: Response, start: number, end: number): Promise<void> {
    const run = newRun(start, end - start, this.#blockBytes)
    await this.#fill(run, this.#options.signal, response)
    this.#keepRun(run)
  }

  /** Fetches the missing bytes of a run, in as many responses as the server needs. */
  async #fill(
    run: Run,
    signal: AbortSignal | undefined,
    answer: Response | undefined,
    progressed: () => void = () => undefined,
  ): Promise<void> {
    for (let ready = answer; run.filled < run.length; ready = undefined) {
      await this.#part(run, signal, ready, progressed)
      progressed()
    }
  }

  async #part(
    run: Run,
    signal: AbortSignal | undefined,
    answer: Response | undefined,
    progressed: () => void,
  ): Promise<void> {
    const start = run.start + run.filled
    const asked = run.length - run.filled
    const response =
      answer ?? (await request(this.#url, { ...this.#options, signal }, { start, length: asked }))
    if (response === undefined) throw this.#changed('it no longer exists')
    const part = await plainPart(this.#url, response)
    const difference = differenceOf(response, start, this.#version)
    if (part === undefined || difference !== undefined) {
      await response.body?.cancel()
      throw this.#changed(difference ?? 'the server no longer supports range requests')
    }
    const before = run.filled
    const body = pieces(this.#url, response, { ...this.#options, signal })
    for await (const bytes of firstBytes(response, body, asked)) {
      append(run, bytes)
      if (run.filled - before >= PROGRESS_BYTES) progressed()
    }
    const loaded = run.filled - before
    checkProgress(this.#url, { loaded, promised: Math.min(part.end - start, asked), asked, start })
  }

  #keepRun({ start, pieces, pieceBytes }: Run): void {
    for (const [at, piece] of pieces.entries()) this.#keep(start / pieceBytes + at, piece)
  }

  async #page(index: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const kept = this.#pages.get(index)
    if (kept !== undefined) return kept
    const start = index * PAGE_BYTES
    const run = newRun(start, Math.min(PAGE_BYTES, this.#version.size - start), PAGE_BYTES)
    await this.#fetch(run, signal)
    const page = run.pieces[0]!
    this.#pages.set(index, page)
    if (!this.#seen.has(Math.floor(start / this.#blockBytes)) && !this.#seenPages.has(index)) {
      this.#seenPages.add(index)
      this.#count(page.byteLength)
    }
    return page
  }

  /**
   * Fetches block `index` and the missing blocks after it, up to `last`, in one request, and passes each to
   * `take`. Returns the first block that it did not fetch.
   */
  async #fetchRun(
    index: number,
    last: number,
    take: (index: number, block: Uint8Array) => void,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    let next = index + 1
    while (next <= last && next - index < RUN_BLOCKS && !this.#blocks.has(next)) next++
    const start = index * this.#blockBytes
    const end = Math.min(next * this.#blockBytes, this.#version.size)
    const run = newRun(start, end - start, this.#blockBytes)
    await this.#fetch(run, signal)
    for (const [at, block] of run.pieces.entries()) take(index + at, block)
    this.#keepRun(run)
    return next
  }

  async #fetch(run: Run, signal: AbortSignal | undefined): Promise<void> {
    // Bytes received before a connection broke are not fetched again.
    const options = { ...this.#options, signal }
    await retrying((progressed) => this.#fill(run, signal, undefined, progressed), options)
  }

  #keep(index: number, block: Uint8Array): void {
    if (!this.#seen.has(index)) {
      this.#seen.add(index)
      this.#count(block.byteLength - this.#pageBytesIn(index))
    }
    this.#blocks.set(index, block)
  }

  /** Bytes of a block that arrived as pages. */
  #pageBytesIn(block: number): number {
    const [first, end] = [block, block + 1].map((index) => (index * this.#blockBytes) / PAGE_BYTES)
    let bytes = 0
    for (const page of this.#seenPages)
      if (page >= first! && page < end!) bytes += Math.min(PAGE_BYTES, this.#version.size - page * PAGE_BYTES)
    return bytes
  }

  #count(bytes: number): void {
    this.#loaded += bytes
    this.#options.onProgress?.(this.#loaded, this.#version.size)
  }

  #changed(how: string): HalfbyteError {
    return new HalfbyteError(
      'integrity',
      `${fileName(this.#url)} changed on the server during reading: ${how}; load it again`,
    )
  }
}
