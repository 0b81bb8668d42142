// Reads the body of a request: a JSON object, limited in bytes and nesting.
import { HalfbyteError, reasonOf } from '../../core/base/errors.ts'
import { parseJson } from '../../core/base/json.ts'
import { isObject, type JsonObject } from '../../core/base/values.ts'
import { requestFields } from '../request-fields.ts'

/** Deeper than any schema, grammar or message needs. */
const MAX_BODY_LEVELS = 1024
/** More text than fits into any context. */
export const MAX_BODY_BYTES = 64 << 20

export const bodyTooLong = (most: number): string =>
  `the body is larger than ${most / 2 ** 20} MiB; send a shorter conversation`

/** The fields of a request. Throws `unsupported` for anything other than a JSON object. */
export async function readBody(request: Request, signal: AbortSignal | undefined): Promise<JsonObject> {
  const text = await readText(request, signal)
  let body: unknown
  try {
    body = parseJson(text, MAX_BODY_LEVELS, false)
  } catch (cause) {
    throw new HalfbyteError('unsupported', `the body is not valid JSON (${reasonOf(cause)}); send an object`)
  }
  if (isObject(body)) return requestFields(body)
  throw new HalfbyteError('unsupported', 'the body is not a JSON object; send the parameters as one')
}

/** A body may be an endless stream. */
async function readText({ body }: Request, signal: AbortSignal | undefined): Promise<string> {
  if (body === null) return ''
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => undefined)
  signal?.addEventListener('abort', cancel)
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      bytes += read.value.byteLength
      if (bytes > MAX_BODY_BYTES) {
        throw new HalfbyteError('unsupported', bodyTooLong(MAX_BODY_BYTES), { bytes: MAX_BODY_BYTES })
      }
      text += decoder.decode(read.value, { stream: true })
    }
  } finally {
    cancel()
    signal?.removeEventListener('abort', cancel)
  }
  signal?.throwIfAborted()
  return text + decoder.decode()
}
