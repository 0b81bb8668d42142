// The text of a PDF, read in a worker that ends with it. The PDF library loads with the first one.
import { documentError } from '../document-error.ts'
import type { PdfReply } from './pdf-pages.ts'

/** Maximum milliseconds without progress. A forged file can keep a reader busy forever. */
const MAX_MS = 60_000

/** Progress in pages. */
export type OnPages = (done: number, all: number) => void

export interface PdfRequest {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly port: MessagePort
}

/**
 * The text of a PDF, with pages separated by form feeds. Throws `locked`, `scanned`, `long`, `damaged`, and
 * `part` if the worker does not start.
 */
export async function pdfText(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  start: () => Worker | Promise<Worker>,
  { signal, onPages }: { readonly signal?: AbortSignal | undefined; readonly onPages?: OnPages | undefined },
): Promise<string> {
  signal?.throwIfAborted()
  const worker = await part(name, start)
  const replied = Promise.withResolvers<string>()
  const { port1, port2: port } = new MessageChannel()
  const onAbort = () => replied.reject(signal?.reason)
  const tooLong = () => replied.reject(documentError('long', name, { why: `${MAX_MS} ms` }))
  let timer = setTimeout(tooLong, MAX_MS)
  port1.onmessage = ({ data }: MessageEvent<PdfReply>) => {
    clearTimeout(timer)
    if ('pages' in data) replied.resolve(data.pages.join('\f'))
    else if ('fault' in data) replied.reject(documentError(data.fault, name, { why: data.why }))
    else {
      timer = setTimeout(tooLong, MAX_MS)
      onPages?.(data.done, data.all)
    }
  }
  worker.onerror = ({ message }) => replied.reject(documentError('part', name, { why: message }))
  signal?.addEventListener('abort', onAbort)
  try {
    signal?.throwIfAborted()
    worker.postMessage({ bytes, port } satisfies PdfRequest, [port])
    return await replied.promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    port1.close()
    worker.terminate()
  }
}

async function part(name: string, start: () => Worker | Promise<Worker>): Promise<Worker> {
  try {
    return await start()
  } catch (cause) {
    throw documentError('part', name, { why: String(cause) }, cause)
  }
}
