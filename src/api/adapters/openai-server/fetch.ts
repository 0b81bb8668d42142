// A `fetch` that answers as OpenAI's server would, from an engine of this page. Nothing goes over the
// network.

import { checkSignal, wrongOption } from '../../../base/check-options.ts'
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../../base/errors.ts'
import { isObject, type JsonObject } from '../../../base/values.ts'
import type { Engine } from '../../engine.ts'
import { type OpenAIClient, type OpenAIOptions, openai } from '../openai-chat.ts'
import type {
  ChatCompletionParams,
  EmbeddingList,
  EmbeddingParams,
  TextCompletion,
  TextCompletionParams,
} from '../openai-types.ts'
import { type OnWarning, warnOfUnread, warnOnce } from '../reply-form.ts'
import { collect, textCompletions } from './completions.ts'
import { type ResponseObject, responseEvents } from './responses.ts'
import { responsesRequest } from './responses-request.ts'

const FIELDS: Record<keyof EmbeddingParams, true> = {
  input: true,
  model: true,
  encoding_format: true,
  dimensions: true,
}

/** Throws `unsupported` for a field with a wrong value, or for vectors shorter than the model's. */
async function embeddings(
  engine: Engine,
  params: EmbeddingParams,
  onWarning: OnWarning,
  signal?: AbortSignal,
): Promise<EmbeddingList> {
  const { input, encoding_format: format, dimensions } = params
  const texts = typeof input === 'string' ? [input] : input
  if (!Array.isArray(texts) || texts.length === 0 || texts.some((text) => typeof text !== 'string'))
    throw wrongOption('input', input, 'a text or a list of texts')
  if (format != null && format !== 'float' && format !== 'base64')
    throw wrongOption('encoding_format', format, 'float or base64')
  warnOfUnread(params, FIELDS, onWarning)
  const vectors = await engine.embed(texts, { signal })
  const size = vectors[0]?.length
  if (dimensions != null && dimensions !== size)
    throw wrongOption('dimensions', dimensions, `${size}, the length of the model's vectors`)
  const counts = await Promise.all(texts.map((text) => engine.countTokens(text)))
  const tokens = counts.reduce((sum, count) => sum + count, 0)
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: format === 'base64' ? base64(vector) : [...vector],
    })),
    model: engine.model.id,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

/** The vector's little-endian f32 bytes. */
function base64(vector: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [index, value] of vector.entries()) bytes.setFloat32(index * 4, value, true)
  return btoa(Array.from(new Uint8Array(bytes.buffer), (byte) => String.fromCharCode(byte)).join(''))
}

interface ErrorAnswer {
  readonly status: number
  readonly body: {
    readonly error: {
      readonly message: string
      readonly type: string
      /** The wrong field, if there is one. */
      readonly param: string | null
      readonly code: string
    }
  }
}

/** Status 400 for requests that can be corrected, else 500. */
function errorAnswer(error: unknown): ErrorAnswer {
  const code = isHalfbyteError(error) ? error.code : 'internal'
  if (code === 'context-overflow') return refusal(400, reasonOf(error), 'context_length_exceeded')
  if (code === 'unsupported') return refusal(400, reasonOf(error), code, fieldOf(error))
  return { status: 500, body: body(reasonOf(error), 'server_error', code) }
}

/** The last word of the name, which may be `a text in stop`. */
function fieldOf(error: unknown): string | null {
  const name = isHalfbyteError(error) ? error.detail['name'] : undefined
  return /[\w.]+$/.exec(typeof name === 'string' ? name : '')?.[0] ?? null
}

/** For a request that is itself wrong. */
const refusal = (
  status: number,
  message: string,
  code: string,
  param: string | null = null,
): ErrorAnswer => ({ status, body: body(message, 'invalid_request_error', code, param) })

const body = (
  message: string,
  type: string,
  code: string,
  param: string | null = null,
): ErrorAnswer['body'] => ({ error: { message, type, param, code } })

/**
 * Starts a reply and streams its chunks, then `[DONE]`. Chunks with a type are events of that name, without
 * such an end. Rejects with the error of its first token. A later error becomes the last event. The reply
 * ends early when the reader cancels, or with `outer`'s reason.
 */
async function eventStream(
  start: (signal: AbortSignal) => Promise<AsyncIterable<object>>,
  outer: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array>> {
  const cancelled = new AbortController()
  const signal = outer === undefined ? cancelled.signal : AbortSignal.any([outer, cancelled.signal])
  const chunks = (await start(signal))[Symbol.asyncIterator]()
  // The first chunk only names the role. With the second the model has begun, so that a request which the
  // engine refuses still gets a status of its own.
  const ready = [await chunks.next(), await chunks.next()]
  const encoder = new TextEncoder()
  let isNamed = false
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const end = () => {
        controller.error(signal.reason)
        // Frees the session of a reply that nobody reads to its end.
        chunks.return?.().catch(() => undefined)
      }
      signal.addEventListener('abort', end, { once: true })
    },
    async pull(controller) {
      const send = (data: string, event = '') =>
        controller.enqueue(encoder.encode(`${event}data: ${data}\n\n`))
      try {
        const { done, value } = ready.shift() ?? (await chunks.next())
        if (done !== true) {
          const { type } = value as { readonly type?: string }
          isNamed = type !== undefined
          send(JSON.stringify(value), isNamed ? `event: ${type}\n` : '')
        } else {
          if (!isNamed) send('[DONE]')
          controller.close()
        }
      } catch (error) {
        if (signal.aborted) return
        send(JSON.stringify(errorAnswer(error).body))
        controller.close()
      }
    },
    cancel: (reason) => cancelled.abort(reason),
  })
}

/** What clients take as their `fetch`. */
export type OpenAIFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * A `fetch` for clients of OpenAI's API, such as the packages `openai` and `@langchain/openai`. On any host
 * it answers `POST /v1/chat/completions`, `POST /v1/responses`, `POST /v1/completions`,
 * `POST /v1/embeddings`, `GET /v1/models` and `GET /v1/models/<id>` from `engine`; any other address gets a
 * 404. Errors have OpenAI's JSON form, with status 400 for a request that can be mended, else 500. An abort
 * rejects with the signal's reason. Throws `unsupported` for anything but an engine.
 */
export function openaiFetch(engine: Engine, { onWarning }: OpenAIOptions = {}): OpenAIFetch {
  const warn = warnOnce(onWarning)
  const server: Server = { engine, client: openai(engine, { onWarning: warn }), warn }
  return async (input, init) => {
    const { request, signal } = requestOf(input, init)
    signal?.throwIfAborted()
    try {
      return await answer(server, request, signal)
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      return failure(errorAnswer(error))
    }
  }
}

/** Throws TypeError for what is not a request, as `fetch` does. */
function requestOf(
  input: Parameters<OpenAIFetch>[0],
  init: RequestInit | undefined,
): { readonly request: Request; readonly signal: AbortSignal | undefined } {
  try {
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    checkSignal(signal)
    // A signal of another realm is not recognised by this one.
    return { request: new Request(input, { ...init, signal: null }), signal }
  } catch (cause) {
    if (cause instanceof TypeError) throw cause
    throw new TypeError(`the request cannot be read: ${reasonOf(cause)}`, { cause })
  }
}

interface Server {
  readonly engine: Engine
  readonly client: OpenAIClient
  readonly warn: OnWarning
}

async function answer(
  { engine, client, warn }: Server,
  request: Request,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const { pathname } = new URL(request.url)
  const route = `${request.method} ${/\/v1(\/.*?)\/?$/.exec(pathname)?.[1] ?? pathname}`
  if (route === 'POST /chat/completions') {
    return chat(client, (await readBody(request, signal)) as unknown as ChatCompletionParams, signal)
  }
  if (route === 'POST /completions') {
    const params = (await readBody(request, signal)) as unknown as TextCompletionParams
    const chunks = (signal?: AbortSignal) => textCompletions(engine, params, warn, signal)
    if (params.stream !== true) return Response.json(await collect(chunks(signal)))
    return events(async (signal) => withUsage(chunks(signal), params), signal)
  }
  if (route === 'POST /responses') return respond(engine, await readBody(request, signal), warn, signal)
  if (route === 'POST /embeddings') {
    const params = (await readBody(request, signal)) as unknown as EmbeddingParams
    return Response.json(await embeddings(engine, params, warn, signal))
  }
  const { id } = engine.model
  const model = { id, object: 'model', created: 0, owned_by: 'halfbyte' }
  if (route === 'GET /models') return Response.json({ object: 'list', data: [model] })
  if (route === `GET /models/${encodeURIComponent(id)}`) return Response.json(model)
  const known =
    'POST /v1/chat/completions, /v1/responses, /v1/completions or /v1/embeddings, or GET /v1/models'
  return failure(refusal(404, `${request.method} ${pathname} is not here; use ${known}`, 'not_found'))
}

async function chat(
  { chat: { completions } }: OpenAIClient,
  params: ChatCompletionParams,
  signal: AbortSignal | undefined,
): Promise<Response> {
  if (params.stream !== true)
    return Response.json(await completions.create({ ...params, stream: false }, { signal }))
  return events((signal) => completions.create({ ...params, stream: true }, { signal }), signal)
}

async function respond(
  engine: Engine,
  params: JsonObject,
  warn: OnWarning,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const request = responsesRequest(params, engine.model.sampling, warn)
  const start = (signal: AbortSignal | undefined) => responseEvents(engine, params, request, signal)
  if (request.isStream) return events(async (signal) => start(signal), signal)
  let whole: ResponseObject | undefined
  for await (const { response } of start(signal)) whole = response ?? whole
  return Response.json(whole)
}

async function events(
  start: (signal: AbortSignal) => Promise<AsyncIterable<object>>,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const headers = { 'content-type': 'text/event-stream; charset=utf-8' }
  return new Response(await eventStream(start, signal), { headers })
}

/** The chunks, without the last one, which has the usage, unless the request asks for it. */
async function* withUsage(
  chunks: AsyncIterable<TextCompletion>,
  { stream_options }: TextCompletionParams,
): AsyncGenerator<TextCompletion, void> {
  for await (const chunk of chunks) {
    if (chunk.usage === undefined || stream_options?.include_usage === true) yield chunk
  }
}

/** Throws `unsupported` for anything but a JSON object. */
async function readBody(request: Request, signal: AbortSignal | undefined): Promise<Record<string, unknown>> {
  const text = await readText(request, signal)
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw new HalfbyteError('unsupported', `the body is not JSON (${reasonOf(cause)}); send an object`)
  }
  if (isObject(body)) return body
  throw new HalfbyteError('unsupported', 'the body is not an object; send the parameters as one')
}

/** Text that no context could hold. */
const MOST_BODY_BYTES = 64 * 2 ** 20

/** A body may be a stream, which may never end. */
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
      if (bytes > MOST_BODY_BYTES) {
        throw new HalfbyteError(
          'unsupported',
          `the body has more than ${MOST_BODY_BYTES / 2 ** 20} MiB; send a shorter conversation`,
          { bytes: MOST_BODY_BYTES },
        )
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

/** Clients repeat requests after a status of 500 or more, but an engine would fail in the same way again. */
const failure = ({ status, body }: ErrorAnswer): Response =>
  Response.json(body, { status, headers: { 'x-should-retry': 'false' } })
