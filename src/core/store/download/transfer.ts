// Downloads a whole file in parallel ranges, and resumes after disconnects and on later visits.
import { HalfbyteError } from '../../base/errors.ts'
import { fileName } from '../address.ts'
import type { PartialFile, Version } from '../device/part-file.ts'
import { CHUNK_BYTES, chunkBytes } from '../device/sums.ts'
import {
  bodyLength,
  checkProgress,
  differenceOf,
  firstBytes,
  PROGRESS_BYTES,
  partOf,
  pieces,
  plainPart,
  type Range,
  type RequestOptions,
  request,
  tagOf,
  tryRange,
} from './request.ts'
import { type RetryOptions, retrying } from './retry.ts'

/** Browsers allow six connections to an HTTP/1.1 server, and the page may need some. */
const CONNECTIONS = 4

interface TransferOptions extends RetryOptions, RequestOptions {
  /**
   * Called with the stored bytes, including those of earlier visits. `total` is 0 if the server does not send
   * it.
   */
  readonly onProgress?: ((loaded: number, total: number) => void) | undefined
}

/** Bytes [start, start + length) of the file; the first `written` of them are stored. */
interface Chunk {
  readonly start: number
  readonly length: number
  /** True if the chunk was fetched earlier and is now fetched again for comparison. */
  readonly isAgain: boolean
  written: number
}

/** The file on the server has changed. */
class Changed extends Error {}

/**
 * Fetches the chunks that `file` lacks. Returns its version, or undefined if the server has no such file.
 * Servers without ranges send the whole file from the start. Throws `network` after the last attempt,
 * `integrity` if the file keeps changing, `storage-full`, or the signal's reason. Bytes that arrived stay
 * stored.
 */
export async function transfer(
  url: string,
  file: PartialFile,
  options: TransferOptions = {},
): Promise<Version | undefined> {
  for (let isLast = false; ; isLast = true) {
    try {
      return await new Transfer(url, file, options).run()
    } catch (error) {
      if (!(error instanceof Changed)) throw error
      await file.begin({ size: 0, etag: '' })
      if (!isLast) continue
      throw new HalfbyteError(
        'integrity',
        `${fileName(url)} keeps changing on the server during the download: ${error.message}; try later`,
      )
    }
  }
}

class Transfer {
  readonly #url: string
  readonly #file: PartialFile
  readonly #options: TransferOptions
  /** Closes the other connections when one fails for good. */
  readonly #stop = new AbortController()
  readonly #spare: ArrayBuffer[] = []
  #loaded = 0
  #total = 0
  /** Number of responses that delivered bytes of the file. */
  #answers = 0

  constructor(url: string, file: PartialFile, options: TransferOptions) {
    this.#url = url
    this.#file = file
    this.#options = options
  }

  async run(): Promise<Version | undefined> {
    const { signal } = this.#options
    const abort = () => this.#stop.abort(signal?.reason)
    signal?.addEventListener('abort', abort)
    try {
      signal?.throwIfAborted()
      return await this.#bring()
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
      this.#stop.abort()
    }
  }

  async #bring(): Promise<Version | undefined> {
    const first = this.#firstMissing()
    // If the file is complete and its server states versions, one byte shows whether the file is unchanged.
    const isPeek = first === undefined && this.#file.version?.etag !== ''
    const index = first ?? 0
    const opening = await this.#retry(() => this.#open(index, isPeek ? 1 : CHUNK_BYTES), true)
    if (opening === undefined) return undefined
    const part = partOf(opening)
    if (part === undefined) return this.#whole(opening)
    const { version } = part
    const known = this.#file.version
    if (known?.size !== version.size || known.etag !== version.etag) {
      await this.#file.begin(version)
    }
    this.#total = version.size
    const [there, missing]: [number[], number[]] = [[], []]
    for (let index = 0; index < Math.ceil(version.size / CHUNK_BYTES); index++) {
      ;(this.#file.has(index) ? there : missing).push(index)
    }
    // If the server sends no version, fetch a stored chunk again and compare it before adding to the file.
    const isUntold = version.etag === ''
    const sample = isUntold ? new Set([...there.slice(0, 1), ...there.slice(-1)]) : new Set<number>()
    for (const index of there) if (!sample.has(index)) this.#progress(chunkBytes(index, this.#total))
    const wanted = [...sample, ...missing]
    const ready = { response: isPeek ? undefined : (opening as Response | undefined), index }
    await this.#fetch(wanted, version, ready)
    if (isPeek) await this.#readPeek(opening)
    await ready.response?.body?.cancel()
    // At the end, fetch an early chunk again, in case the file changed meanwhile.
    if (isUntold && this.#answers > 1) {
      await this.#fetch([...new Set([wanted[0]!, wanted[wanted.length >> 1]!])], version)
    }
    return version
  }

  /**
   * Reads the byte of a version check, with the same time limit as any body. The headers are enough, so the
   * byte may be missing.
   */
  async #readPeek(response: Response): Promise<void> {
    try {
      let loaded = 0
      for await (const bytes of this.#pieces(response)) {
        loaded += bytes.byteLength
        if (loaded > 1) break
      }
    } catch {
      this.#stop.signal.throwIfAborted()
    }
  }

  /**
   * Fetches chunks in parallel. `ready` holds the response to one chunk's first attempt; it is removed once
   * used.
   */
  async #fetch(
    indices: readonly number[],
    version: Version,
    ready?: { response: Response | undefined; readonly index: number },
  ): Promise<void> {
    const next = indices.values()
    const connection = async () => {
      for (const index of next) {
        const chunk: Chunk = {
          start: index * CHUNK_BYTES,
          length: chunkBytes(index, this.#total),
          isAgain: ready === undefined,
          written: 0,
        }
        await this.#retry((progressed) => {
          const answer = ready?.index === index ? ready.response : undefined
          if (ready !== undefined && answer !== undefined) ready.response = undefined
          return this.#chunk(chunk, version, answer, progressed)
        })
        if (!this.#file.finish(index)) throw new Changed('earlier bytes have changed')
      }
    }
    await this.#together(Array.from({ length: CONNECTIONS }, connection))
  }

  /** Undefined if nothing is missing. */
  #firstMissing(): number | undefined {
    const { version } = this.#file
    let index = 0
    while (version !== undefined && index * CHUNK_BYTES < version.size && this.#file.has(index)) index++
    return version !== undefined && index * CHUNK_BYTES >= version.size ? undefined : index
  }

  async #open(index: number, length: number): Promise<Response | undefined> {
    const range = { start: index * CHUNK_BYTES, length }
    const answer = await tryRange(this.#url, this.#requestOptions, range)
    if (answer === undefined && this.#file.version === undefined) return undefined
    const ranged = answer === 'refused' ? undefined : answer
    const part = ranged && partOf(ranged)
    if (this.#file.version?.size) await this.#refusePage(ranged)
    if (ranged?.status === 200 || part?.start === range.start) return ranged
    await ranged?.body?.cancel()
    if (part !== undefined) throw new Changed(`it sent bytes from ${part.start} instead of ${range.start}`)
    return this.#request()
  }

  /** Fetches the missing bytes of `chunk`, in as many responses as the server needs. */
  async #chunk(
    chunk: Chunk,
    version: Version,
    answer: Response | undefined,
    progressed: () => void,
  ): Promise<void> {
    for (let ready = answer; chunk.written < chunk.length; ready = undefined) {
      await this.#part(chunk, version, ready, progressed)
      progressed()
    }
  }

  async #part(
    chunk: Chunk,
    version: Version,
    answer: Response | undefined,
    progressed: () => void,
  ): Promise<void> {
    const before = chunk.written
    const from = chunk.start + before
    const asked = chunk.length - before
    const response = answer ?? (await this.#request({ start: from, length: asked }))
    await this.#refusePage(response)
    const part = response && (await plainPart(this.#url, response))
    const difference = response === undefined ? 'it no longer exists' : differenceOf(response, from, version)
    if (response === undefined || part === undefined || difference !== undefined) {
      await response?.body?.cancel()
      throw new Changed(difference)
    }
    this.#answers++
    for await (const bytes of firstBytes(response, this.#pieces(response), asked)) {
      this.#file.write(chunk.start + chunk.written, bytes)
      chunk.written += bytes.byteLength
      if (!chunk.isAgain) this.#progress(bytes.byteLength)
      if (chunk.written - before >= PROGRESS_BYTES) progressed()
    }
    const loaded = chunk.written - before
    checkProgress(this.#url, { loaded, promised: Math.min(part.end - from, asked), asked, start: from })
  }

  /**
   * A network that requires a login answers every request with its login page. Keep the bytes that arrived
   * earlier.
   */
  async #refusePage(response: Response | undefined): Promise<void> {
    // A partial response belongs to the file, whatever type its server states.
    if (response?.status !== 200) return
    if (!response.headers.get('content-type')?.startsWith('text/html')) return
    await response.body?.cancel()
    throw new HalfbyteError(
      'network',
      `received a web page instead of ${fileName(this.#url)}; log in to this network, or check the address`,
    )
  }

  /** Fetches the whole file, from servers without ranges. `opening` is the response to the first attempt. */
  async #whole(opening: Response): Promise<Version> {
    let ready: Response | undefined = opening
    return this.#retry(async () => {
      const response = ready ?? (await this.#request())
      ready = undefined
      if (response === undefined) throw new Changed('it no longer exists')
      const etag = tagOf(response)
      this.#total = bodyLength(response)
      this.#loaded = 0
      await this.#file.begin({ size: this.#total, etag })
      for await (const bytes of this.#pieces(response)) {
        this.#file.write(this.#loaded, bytes)
        this.#progress(bytes.byteLength)
      }
      return { size: this.#loaded, etag }
    })
  }

  get #requestOptions(): TransferOptions & { readonly signal: AbortSignal } {
    return { ...this.#options, signal: this.#stop.signal }
  }

  #request(range?: Range): Promise<Response | undefined> {
    return request(this.#url, this.#requestOptions, range)
  }

  #pieces(response: Response): AsyncGenerator<Uint8Array, void> {
    return pieces(this.#url, response, {
      signal: this.#stop.signal,
      stallMs: this.#options.stallMs,
      spare: this.#spare,
    })
  }

  #retry<T>(work: (progressed: () => void) => Promise<T>, isFirst = false): Promise<T> {
    return retrying(work, this.#requestOptions, isFirst)
  }

  /**
   * Waits for all work. The first failure stops the rest, and is thrown once nothing uses the file any more.
   */
  async #together(work: readonly Promise<void>[]): Promise<void> {
    let failure: { readonly error: unknown } | undefined
    const each = work.map((one) =>
      one.catch((error) => {
        failure ??= { error }
        this.#stop.abort(error)
      }),
    )
    await Promise.all(each)
    if (failure !== undefined) throw failure.error
  }

  #progress(bytes: number): void {
    this.#loaded += bytes
    this.#options.onProgress?.(this.#loaded, this.#total)
  }
}
