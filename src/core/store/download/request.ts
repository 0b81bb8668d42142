// Sends a request and reads its body in chunks. Errors say whether waiting may help; a partial response is
// checked against the requested range.
import { type ErrorDetail, HalfbyteError, reasonOf } from '../../base/errors.ts'
import { fileName } from '../address.ts'
import type { Version } from '../device/part-file.ts'

/**
 * Pages of other origins see the modification time, and the ETag if the server exposes it. A weak and a
 * strong ETag count as the same version.
 */
export const tagOf = ({ headers }: Response): string =>
  (headers.get('etag') ?? headers.get('last-modified') ?? '').replace(/^W\//, '')

/** Bytes [start, end) of a file. */
interface Part {
  readonly start: number
  readonly end: number
  readonly version: Version
}

const RANGE = /^bytes (\d+)-(\d+)\/(\d+)$/

/** The content of a partial response. Undefined for other responses, and for those with a `partFault`. */
export function partOf(response: Response): Part | undefined {
  if (response.status !== 206 || partFault(response) !== undefined) return undefined
  const [, start, last, size] = RANGE.exec(response.headers.get('content-range') ?? '') ?? []
  return {
    start: Number(start),
    end: Number(last) + 1,
    version: { size: Number(size), etag: tagOf(response) },
  }
}

/** Why the position of a partial response's bytes is unknown, as a clause; undefined if it is known. */
function partFault({ headers, type }: Response): string | undefined {
  const encoding = headers.get('content-encoding')
  if (encoding !== null) return `it is compressed (Content-Encoding: ${encoding})`
  const said = headers.get('content-range')
  const contentType = headers.get('content-type') ?? ''
  if (said === null && contentType.startsWith('multipart/'))
    return `it has several parts (Content-Type: ${contentType})`
  // Pages of other origins see this header only if the server exposes it.
  if (said === null) return 'its Content-Range is missing or hidden by CORS'
  const [, start, last, size] = (RANGE.exec(said) ?? []).map(Number)
  if (start === undefined || last === undefined || size === undefined)
    return `its Content-Range is "${said.slice(0, 80)}" instead of "bytes FIRST-LAST/SIZE"`
  if (start > last || last >= size || !Number.isSafeInteger(size))
    return `its Content-Range is "${said.slice(0, 80)}", which is not a valid range of a file`
  const length = headers.get('content-length')
  // CORS hides that a body was compressed. This is then the length of the compressed body.
  if (length !== null && Number(length) !== last - start + 1 && type !== 'cors')
    return `its Content-Range is "${said}", ${last - start + 1} bytes, and its Content-Length is ${length}`
  return undefined
}

/**
 * How a response differs from the expected part at `start` of the given version; undefined if it does not.
 */
export function differenceOf(response: Response, start: number, { size, etag }: Version): string | undefined {
  const part = partOf(response)
  if (part === undefined) return 'the server no longer supports range requests'
  if (part.start !== start) return `it sent bytes from ${part.start} instead of ${start}`
  if (part.version.size !== size) return `it has ${part.version.size} bytes instead of ${size}`
  if (part.version.etag === etag) return undefined
  return `its version is ${part.version.etag || 'gone'} instead of ${etag || 'none'}`
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds without data after which a connection counts as broken; default 30 000. */
  readonly stallMs?: number | undefined
  /** Additional headers, besides those of a range. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Bytes [start, start + length) of a file. */
export interface Range {
  readonly start: number
  readonly length: number
}

/** Starts a request. Returns undefined if the file does not exist (404 or 410). */
export async function request(
  url: string,
  { signal, headers, stallMs }: RequestOptions = {},
  range?: Range,
): Promise<Response | undefined> {
  let response: Response
  try {
    response = await within(stallMs, fetch(url, { ...partInit(headers, range), signal: signal ?? null }))
  } catch (cause) {
    signal?.throwIfAborted()
    throw new HalfbyteError(
      'network',
      `${fileName(url)} could not be fetched; check the address, the connection and the server's CORS headers`,
      {},
      { cause },
    )
  }
  if (response.status === 404 || response.status === 410) return undefined
  // A partial response to a request without a range is not the file.
  if (response.ok && (range !== undefined || response.status !== 206)) return response
  await response.body?.cancel()
  const { status } = response
  if (status === 206) throw uselessPart(url, partFault(response) ?? 'no range was requested', { status })
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  throw new HalfbyteError(
    'network',
    `${fileName(url)}: the server answered ${status} instead of 200; check the address or try later`,
    { status, ...(retryAfter >= 0 && { retryAfter }) },
  )
}

/**
 * Requests a range. Returns `refused` if the server or the browser rejects the request because of its range,
 * and for non-HTTP addresses, which would answer a range with status 200; undefined if the file does not
 * exist.
 */
export async function tryRange(
  url: string,
  options: RequestOptions,
  range: Range,
): Promise<Response | 'refused' | undefined> {
  if (!/^https?:/i.test(url)) return 'refused'
  try {
    return await request(url, options, range)
  } catch (error) {
    options.signal?.throwIfAborted()
    const { detail, cause } = error as HalfbyteError
    if (detail['status'] !== 416 && !(cause instanceof TypeError)) throw error
    return 'refused'
  }
}

/** Ranges bypass the browser's cache, which would mix parts of two versions. */
function partInit(headers: RequestOptions['headers'], range: Range | undefined): RequestInit {
  if (range === undefined) return { headers: { ...headers } }
  const { start, length } = range
  return { cache: 'no-store', headers: { ...headers, Range: `bytes=${start}-${start + length - 1}` } }
}

/** `what`: a clause that says what is wrong with a 206 response. */
const uselessPart = (url: string, what: string, detail: ErrorDetail = {}): HalfbyteError =>
  new HalfbyteError(
    'network',
    `${fileName(url)}: the server answered 206 (part of a file), and ${what}; load it from another server, or have this one send plain parts that Content-Range describes`,
    detail,
  )

/**
 * The part of the file in a response. Throws `network` for a partial response whose position in the file is
 * unknown; undefined for other responses.
 */
export async function plainPart(url: string, response: Response): Promise<Part | undefined> {
  const fault = response.status === 206 ? partFault(response) : undefined
  if (fault === undefined) return partOf(response)
  await response.body?.cancel()
  throw uselessPart(url, fault)
}

/** Partial responses with fewer bytes count as empty: a file in such small parts would never complete. */
const LEAST_BYTES = 1024

/**
 * A connection that breaks before it delivers this much counts as no progress, because otherwise retries
 * could go on forever.
 */
export const PROGRESS_BYTES = 64 << 10

/**
 * Call this after a response delivered `loaded` of `asked` bytes at `start`. A server may send less than
 * requested if it says so; the rest is then requested at once. Throws `network` if the response ended before
 * the `promised` bytes, or delivered almost nothing.
 */
export function checkProgress(
  url: string,
  { loaded, promised, asked, start }: Readonly<Record<'loaded' | 'promised' | 'asked' | 'start', number>>,
): void {
  if (loaded < promised) throw cutShort(url, loaded, asked, start)
  if (loaded >= Math.min(asked, LEAST_BYTES)) return
  throw new HalfbyteError(
    'network',
    `${fileName(url)}: the server sent ${loaded} of the ${asked} bytes requested from ${start}, but at least ${LEAST_BYTES} are needed; load it from another server`,
    { loaded, asked },
  )
}

export function missingFile(url: string): HalfbyteError {
  return new HalfbyteError(
    'network',
    `${fileName(url)} does not exist on the server (404); check the address`,
    { status: 404 },
  )
}

/** The length of the body, or 0 if the server does not send it or compresses the body. */
export function bodyLength(response: Response): number {
  if (response.headers.has('content-encoding')) return 0
  const length = Number(response.headers.get('content-length') ?? 0)
  return Number.isSafeInteger(length) && length > 0 ? length : 0
}

/**
 * The first `length` bytes of a body that arrives in `pieces`; fewer if it ends early. A server may send more
 * than requested; the rest is ignored. A response of exactly this length is read to its end, because browsers
 * report an abandoned body as a failed request.
 */
export async function* firstBytes(
  response: Response,
  pieces: AsyncIterable<Uint8Array>,
  length: number,
): AsyncGenerator<Uint8Array, void> {
  const isExact = bodyLength(response) === length
  let loaded = 0
  for await (const bytes of pieces) {
    const wanted = bytes.subarray(0, length - loaded)
    loaded += wanted.byteLength
    yield wanted
    if (loaded === length && !isExact) return
  }
}

/** The error for a response that ended before all of its bytes arrived. */
function cutShort(url: string, loaded: number, total: number, start: number): HalfbyteError {
  return new HalfbyteError(
    'network',
    `${fileName(url)}: received ${loaded} of ${total} bytes at ${start}; load it again`,
    { loaded, total },
  )
}

/**
 * CORS hides that a body was compressed. The stated length is then that of the compressed bytes: less than
 * what arrives, or slightly more for data that does not compress well.
 */
const hiddenBytes = (response: Response): number => (response.type === 'cors' ? 64 : 0)

/**
 * Maximum bytes of a body of unknown length. No published weight file is larger, and text files are much
 * smaller.
 */
const longest = (url: string): number => (/\.(json|jinja)$/.test(fileName(url)) ? 256 << 20 : 2 ** 34)

export interface BodyOptions extends Omit<RequestOptions, 'headers'> {
  /** Buffers of earlier bodies, which this body and later ones reuse. */
  readonly spare?: ArrayBuffer[] | undefined
}

/**
 * The body of `response` in chunks. A chunk is valid until the next one is requested. Throws `network` if the
 * body breaks off, ends early or stalls, and the signal's reason if aborted. The connection is then closed,
 * and also when the loop over the chunks exits.
 */
export async function* pieces(
  url: string,
  response: Response,
  { signal, stallMs, spare = [] }: BodyOptions = {},
): AsyncGenerator<Uint8Array, void> {
  const total = bodyLength(response)
  const hidden = hiddenBytes(response)
  const most = total > 0 && hidden === 0 ? total : longest(url)
  if (response.body === null) return
  const reader = openReader(response.body, spare)
  let loaded = 0
  let isOver = false
  try {
    for (;;) {
      signal?.throwIfAborted()
      const { done, value } = await within(stallMs, reader.read())
      if (done || value === undefined) break
      loaded += value.byteLength
      if (loaded > most) throw endless(url, most)
      yield value
    }
    isOver = true
  } catch (cause) {
    signal?.throwIfAborted()
    throw cause instanceof HalfbyteError ? cause : brokenOff(url, loaded, total, cause)
  } finally {
    // Does not wait for a body that nobody reads.
    if (!isOver) void reader.cancel().catch(() => undefined)
    if ('leave' in reader) reader.leave()
  }
  if (loaded < total - hidden) throw endedEarly(url, loaded, total)
}

/** Bytes per read. */
const PIECE_BYTES = 256 << 10

/**
 * Reads into one reused buffer if the browser can. Otherwise a download leaves as many bytes of garbage as it
 * receives.
 */
function openReader(body: ReadableStream<Uint8Array>, spare: ArrayBuffer[]) {
  let reader: ReadableStreamBYOBReader
  try {
    reader = body.getReader({ mode: 'byob' })
  } catch {
    return body.getReader()
  }
  let buffer = spare.pop() ?? new ArrayBuffer(PIECE_BYTES)
  return {
    async read() {
      const result = await reader.read(new Uint8Array(buffer))
      if (result.value !== undefined) buffer = result.value.buffer
      return result
    },
    cancel: () => reader.cancel(),
    // A buffer that the read did not return has been detached.
    leave: () => buffer.byteLength > 0 && spare.push(buffer),
  }
}

/** Rejects if `work` takes longer than `ms`. */
function within<T>(ms = 30_000, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no data arrived for ${ms / 1000} s`)), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

const brokenOff = (url: string, loaded: number, total: number, cause: unknown): HalfbyteError =>
  new HalfbyteError(
    'network',
    `${fileName(url)} stopped after ${loaded} of ${total || 'an unknown number of'} bytes ` +
      `(${reasonOf(cause)}); load it again`,
    { loaded, total },
    { cause },
  )

const endless = (url: string, most: number): HalfbyteError =>
  new HalfbyteError(
    'integrity',
    `${fileName(url)}: the server sent more than the limit of ${most} bytes; check the address`,
    { file: fileName(url), most },
  )

export const endedEarly = (url: string, loaded: number, total: number): HalfbyteError =>
  new HalfbyteError('network', `${fileName(url)} ended after ${loaded} of ${total} bytes; load it again`, {
    loaded,
    total,
  })
