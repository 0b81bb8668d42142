// A `fetch` that answers like OpenAI's server, with an engine in this page. Nothing is sent over the network.

import { checkSignal, readFrom } from '../../core/base/check-options.ts'
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../core/base/errors.ts'
import { parseJson } from '../../core/base/json.ts'
import { isObject, type JsonObject } from '../../core/base/values.ts'
import type { Embedder } from '../../encoders/embedder/embedder.ts'
import type { Engine } from '../../engine/api/engine.ts'
import { checkEmbedder, checkModel, isEmbedder } from '../load-once.ts'
import { type OpenAIClient, type OpenAIOptions, openai } from '../openai-chat.ts'
import type {
  ChatCompletionParams,
  EmbeddingParams,
  RerankParams,
  TextCompletion,
  TextCompletionParams,
} from '../openai-types.ts'
import { type OnWarning, warnOnce } from '../reply-form.ts'
import { collect, textCompletions } from './completions.ts'
import { embeddings, rerank } from './embeddings.ts'
import { type ResponseObject, responseEvents } from './responses.ts'
import { responsesRequest } from './responses-request.ts'

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

/** Status 400 for requests that can be corrected, otherwise 500. */
function errorAnswer(error: unknown): ErrorAnswer {
  const code = isHalfbyteError(error) ? error.code : 'internal'
  if (code === 'context-overflow')
    return refusal(400, overflowText(error), 'context_length_exceeded', fieldOf(error))
  if (code === 'unsupported') return refusal(400, reasonOf(error), code, fieldOf(error))
  if (isDamagedPicture(error)) return refusal(400, reasonOf(error), code, 'messages')
  return { status: 500, body: body(reasonOf(error), 'server_error', code) }
}

/** LiteLLM and others recognize this error only by the beginning of OpenAI's sentence. */
function overflowText(error: unknown): string {
  const length = isHalfbyteError(error) ? error.detail['contextLength'] : undefined
  const start = length === undefined ? '' : `This model's maximum context length is ${length} tokens: `
  return start + reasonOf(error)
}

/** Other errors of formats are about the model's own files. */
const isDamagedPicture = (error: unknown): boolean =>
  isHalfbyteError(error) && error.code === 'format' && error.detail['part'] === 'image'

/** The last word of the name, which may be a phrase such as `a text in stop`. */
function fieldOf(error: unknown): string | null {
  const name = isHalfbyteError(error) ? error.detail['name'] : undefined
  return /[\w.]+$/.exec(typeof name === 'string' ? name : '')?.[0] ?? null
}

/** The error for an invalid request. */
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
 * Starts a reply and streams its chunks, then `[DONE]`. Chunks with a type become events of that name,
 * without `[DONE]`. Rejects with the error of its first token. A later error becomes the last event. The
 * reply ends early when the reader cancels, or with `outer`'s reason.
 */
async function eventStream(
  start: (signal: AbortSignal) => Promise<AsyncIterable<object>>,
  outer: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array>> {
  const cancelled = new AbortController()
  const signal = outer === undefined ? cancelled.signal : AbortSignal.any([outer, cancelled.signal])
  const chunks = (await start(signal))[Symbol.asyncIterator]()
  // The first chunk only names the role. Waits for the second one, so that a request that the engine rejects
  // still gets its own status.
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

/** The type of a client's `fetch` option. */
export type OpenAIFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Options of `openaiFetch`. */
export interface OpenAIFetchOptions extends OpenAIOptions {
  /** Makes the vectors of `/v1/embeddings` in place of the engine. Default: the engine's states. */
  readonly embedder?: Embedder | undefined
  /** Answers `/v1/rerank`. Default: no reranker. */
  readonly reranker?: Embedder | undefined
}

/**
 * A `fetch` for clients of OpenAI's API, such as the packages `openai` and `@langchain/openai`. On any host
 * it answers `POST /v1/chat/completions`, `POST /v1/responses`, `POST /v1/completions`,
 * `POST /v1/embeddings`, `POST /v1/rerank`, `GET /v1/models` and `GET /v1/models/<id>` from `model`; any
 * other address gets a 404. An embedder in place of an engine computes vectors or reranks, and rejects chats.
 * Errors have OpenAI's JSON form, with status 400 for a request that can be corrected, otherwise 500. An
 * abort rejects with the signal's reason. Throws `unsupported` for anything but an engine or an embedder.
 */
export function openaiFetch(model: Engine | Embedder, options: OpenAIFetchOptions = {}): OpenAIFetch {
  const { onWarning, embedder, reranker } = readFrom('the options', () => ({ ...options }))
  checkModel(model)
  for (const each of [embedder, reranker]) if (each !== undefined) checkEmbedder(each)
  const warn = warnOnce(onWarning)
  const chats = isEmbedder(model) ? undefined : { engine: model, client: openai(model, { onWarning: warn }) }
  const server: Server = {
    chats,
    id: model.model.id,
    ids: [...new Set([model, embedder ?? model, reranker ?? model].map(({ model: { id } }) => id))],
    embedder: embedder ?? model,
    reranker: reranker ?? model,
    warn,
  }
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

/** Throws a TypeError if it isn't a request, like `fetch`. */
function requestOf(
  input: Parameters<OpenAIFetch>[0],
  init: RequestInit | undefined,
): { readonly request: Request; readonly signal: AbortSignal | undefined } {
  try {
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    checkSignal(signal)
    // A signal from another realm is not recognised in this one.
    return { request: new Request(input, { ...init, signal: null }), signal }
  } catch (cause) {
    if (cause instanceof TypeError) throw cause
    throw new TypeError(`the request cannot be read: ${reasonOf(cause)}`, { cause })
  }
}

interface Server {
  /** Undefined if the model isn't a chat model. */
  readonly chats: { readonly engine: Engine; readonly client: OpenAIClient } | undefined
  readonly id: string
  /** Names of all models. */
  readonly ids: readonly string[]
  readonly embedder: Engine | Embedder
  readonly reranker: Engine | Embedder
  readonly warn: OnWarning
}

/** Routes that need a chat model. */
const CHATS = ['POST /chat/completions', 'POST /completions', 'POST /responses']

async function answer(server: Server, request: Request, signal: AbortSignal | undefined): Promise<Response> {
  const { chats, ids, embedder, reranker, warn } = server
  const { pathname } = new URL(request.url)
  const route = `${request.method} ${/\/v1(\/.*?)\/?$/.exec(pathname)?.[1] ?? pathname}`
  if (chats !== undefined && CHATS.includes(route))
    return converse(chats, route, await readBody(request, signal), warn, signal)
  if (CHATS.includes(route)) return failure(refusal(400, `${server.id} ${NO_CHAT}`, 'unsupported', 'model'))
  if (route === 'POST /embeddings') {
    const params = (await readBody(request, signal)) as unknown as EmbeddingParams
    return Response.json(await embeddings(embedder, params, warn, signal))
  }
  if (route === 'POST /rerank') {
    const params = (await readBody(request, signal)) as unknown as RerankParams
    return Response.json(await rerank(reranker, params, warn, signal))
  }
  const models = ids.map((id) => ({ id, object: 'model', created: 0, owned_by: 'halfbyte' }))
  if (route === 'GET /models') return Response.json({ object: 'list', data: models })
  const model = models.find(({ id }) => route === `GET /models/${encodeURIComponent(id)}`)
  if (model !== undefined) return Response.json(model)
  const known =
    'POST /v1/chat/completions, /v1/responses, /v1/completions, /v1/embeddings or /v1/rerank, or GET /v1/models'
  return failure(
    refusal(
      404,
      `${request.method} ${pathname} is not an endpoint of this server; use ${known}`,
      'not_found',
    ),
  )
}

const NO_CHAT = 'is not a chat model; use POST /v1/embeddings or /v1/rerank, or load a chat model too'

async function converse(
  { engine, client }: NonNullable<Server['chats']>,
  route: string,
  body: JsonObject,
  warn: OnWarning,
  signal: AbortSignal | undefined,
): Promise<Response> {
  if (route === 'POST /responses') return respond(engine, body, warn, signal)
  if (route === 'POST /chat/completions') return chat(client, body as unknown as ChatCompletionParams, signal)
  const params = body as unknown as TextCompletionParams
  const chunks = (signal?: AbortSignal) => textCompletions(engine, params, warn, signal)
  if (params.stream !== true) return Response.json(await collect(chunks(signal)))
  return events(async (signal) => withUsage(chunks(signal), params), signal)
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

/** The chunks, without the last one, which has the usage, unless it was requested. */
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
    body = parseJson(text, MOST_BODY_LEVELS, false)
  } catch (cause) {
    throw new HalfbyteError('unsupported', `the body is not valid JSON (${reasonOf(cause)}); send an object`)
  }
  if (isObject(body)) return body
  throw new HalfbyteError('unsupported', 'the body is not a JSON object; send the parameters as one')
}

/** More than a schema, a grammar or a message may nest. */
const MOST_BODY_LEVELS = 1024
/** More text than fits in any context. */
export const MOST_BODY_BYTES = 64 << 20

export const bodyTooLong = (most: number): string =>
  `the body is larger than ${most / 2 ** 20} MiB; send a shorter conversation`

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
      if (bytes > MOST_BODY_BYTES) {
        throw new HalfbyteError('unsupported', bodyTooLong(MOST_BODY_BYTES), { bytes: MOST_BODY_BYTES })
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
