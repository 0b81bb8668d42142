// Download. In: a URL and a sink. Out: the file's bytes in the sink, in order, with progress, or a typed error.
import { HalfbyteError } from '../base/errors.ts'
import { fileName } from './address.ts'

/** Where downloaded bytes go. Either `close` succeeds or `abort` is called, perhaps after a `close` that failed. */
export interface Sink<T> {
  write(bytes: Uint8Array): Promise<void>
  /** All bytes arrived; yields what can now be read. */
  close(): Promise<T>
  /** The download failed; nothing of it may be read back. */
  abort(): Promise<void>
}

export interface DownloadOptions {
  readonly signal?: AbortSignal | undefined
  /** Bytes so far; `total` is 0 when the server does not say. */
  readonly onProgress?: ((loaded: number, total: number) => void) | undefined
}

/** Starts a request; undefined when the server says that there is no such file (404 or 410). */
export async function request(
  url: string,
  signal?: AbortSignal,
  init: RequestInit = {},
): Promise<Response | undefined> {
  let response: Response
  try {
    response = await fetch(url, { ...init, signal: signal ?? null })
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
  if (!response.ok) {
    await response.body?.cancel()
    throw new HalfbyteError(
      'network',
      `${fileName(url)}: the server answered ${response.status} instead of 200; check the address or try later`,
      {
        status: response.status,
      },
    )
  }
  return response
}

export function missingFile(url: string): HalfbyteError {
  return new HalfbyteError(
    'network',
    `${fileName(url)} does not exist on the server (404); check the address`,
    { status: 404 },
  )
}

/** The length that the body will have, or 0 when the server does not say or compresses on the way. */
export function bodyLength(response: Response): number {
  if (response.headers.has('content-encoding')) return 0
  const length = Number(response.headers.get('content-length') ?? 0)
  return Number.isSafeInteger(length) && length > 0 ? length : 0
}

/**
 * CORS hides that a body was compressed, and its length is then that of the compressed bytes: less than what arrives, or
 * a little more for what does not compress.
 */
const hiddenBytes = (response: Response): number => (response.type === 'cors' ? 64 : 0)

/** Streams a response into a sink. Throws `network` when the body ends early, the signal's reason when aborted. */
export async function drain<T>(
  url: string,
  response: Response,
  sink: Sink<T>,
  options: DownloadOptions = {},
): Promise<T> {
  const total = bodyLength(response)
  let loaded = 0
  try {
    if (response.body === null) throw missingFile(url)
    const reader = response.body.getReader()
    for (;;) {
      options.signal?.throwIfAborted()
      const { done, value } = await reader.read()
      if (done) break
      await sink.write(value)
      loaded += value.byteLength
      options.onProgress?.(loaded, total)
    }
    if (loaded < total - hiddenBytes(response)) {
      throw new HalfbyteError(
        'network',
        `${fileName(url)} ended after ${loaded} of ${total} bytes; load it again`,
        { loaded, total },
      )
    }
    return await sink.close()
  } catch (cause) {
    await sink.abort()
    options.signal?.throwIfAborted()
    if (cause instanceof HalfbyteError) throw cause
    throw new HalfbyteError(
      'network',
      `${fileName(url)} broke off after ${loaded} of ${total || 'an unknown number of'} bytes; load it again`,
      { loaded, total },
      { cause },
    )
  }
}

/** Keeps the bytes in a Blob, which the browser may move to disk. */
export function blobSink(): Sink<Blob> {
  let parts: Uint8Array<ArrayBuffer>[] = []
  return {
    async write(bytes) {
      parts.push(new Uint8Array(bytes))
    },
    async close() {
      return new Blob(parts)
    },
    async abort() {
      parts = []
    },
  }
}
