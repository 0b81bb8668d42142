// OpenAI's server. In: requests that a client makes with `fetch`. Out: the responses that OpenAI's server
// would give, from an engine of this page. Nothing goes over the network.
import { HalfbyteError, reasonOf } from '../../../base/errors.ts'
import { checkSignal } from '../../../base/options.ts'
import { isObject, type JsonObject } from '../../../base/values.ts'
import type { Engine } from '../../engine.ts'
import { type OpenAIClient, type OpenAIOptions, openai } from '../openai-chat.ts'
import type {
  ChatCompletionParams,
  EmbeddingParams,
  TextCompletion,
  TextCompletionParams,
} from '../openai-types.ts'
import { type OnWarning, warnOnce } from '../warn.ts'
import { collect, textCompletions } from './completions.ts'
import { embeddings } from './embeddings.ts'
import { type ErrorAnswer, errorAnswer, refusal } from './errors.ts'
import { eventStream } from './events.ts'
import { type ResponseObject, responseEvents } from './responses.ts'
import { responsesRequest } from './responses-request.ts'

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

/** Throws TypeError for what is no request, as `fetch` does. */
function requestOf(
  input: Parameters<OpenAIFetch>[0],
  init: RequestInit | undefined,
): { readonly request: Request; readonly signal: AbortSignal | undefined } {
  try {
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    checkSignal(signal)
    // A signal of another realm is none to this one.
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
  let [text, bytes] = ['', 0]
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
