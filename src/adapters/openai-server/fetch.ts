// A `fetch` that answers like OpenAI's server, with an engine in this page. Nothing is sent over the network.

import { checkSignal, readFrom } from '../../core/base/check-options.ts'
import { HalfbyteError, reasonOf } from '../../core/base/errors.ts'
import type { JsonObject } from '../../core/base/values.ts'
import type { Embedder } from '../../encoders/embedder/embedder.ts'
import type { Engine } from '../../engine/api/engine.ts'
import { isEmbedder } from '../load-once.ts'
import { chunks, completion, type OpenAIOptions } from '../openai-chat.ts'
import { type ChatFields, chatRequest, type Hooks, tellUsage } from '../openai-request.ts'
import type { EmbeddingParams, RerankParams, TextCompletion, TextCompletionParams } from '../openai-types.ts'
import { warnOnce } from '../reply-form.ts'
import type { Given } from '../request-fields.ts'
import { readBody } from './body.ts'
import { collect, textCompletions } from './completions.ts'
import { embeddings, rerank } from './embeddings.ts'
import { errorAnswer, errorOf, failure } from './error-answer.ts'
import { eventStream } from './event-stream.ts'
import { type Models, type NamedEngines, servedModels } from './models.ts'
import { type ResponseObject, responseEvents } from './responses.ts'
import { responsesRequest } from './responses-request.ts'

/** The type of a client's `fetch` option. */
export type OpenAIFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Options of `openaiFetch`. */
export interface OpenAIFetchOptions extends OpenAIOptions {
  /** Computes the vectors of `/v1/embeddings` in place of the engine. Default: the engine's hidden states. */
  readonly embedder?: Embedder | undefined
  /** Answers `/v1/rerank`. Default: no reranker. */
  readonly reranker?: Embedder | undefined
}

/**
 * A `fetch` for clients of OpenAI's API, such as the packages `openai` and `@langchain/openai`. On any host
 * it answers `POST /v1/chat/completions`, `POST /v1/responses`, `POST /v1/completions`,
 * `POST /v1/embeddings`, `POST /v1/rerank`, `GET /v1/models` and `GET /v1/models/<id>` from `model`; any
 * other address gets a 404. HEAD gets the same headers as GET. An embedder in place of an engine computes
 * vectors or reranks, and rejects chats. For several engines, pass an object with a name for each: the field
 * `model` of a request selects one (default: the first), and an unknown name gets a 404.
 *
 * Errors have OpenAI's JSON form, with status 400 for a request that can be corrected, otherwise 500. An
 * abort rejects with the signal's reason. Throws `unsupported` for anything but engines or an embedder.
 */
export function openaiFetch(
  model: Engine | Embedder | NamedEngines,
  options: OpenAIFetchOptions = {},
): OpenAIFetch {
  const { onWarning, onUsage, embedder, reranker } = readFrom('the options', () => ({ ...options }))
  const models = servedModels(model, { embedder, reranker })
  const hooks = { onWarning: warnOnce(onWarning), onUsage }
  return async (input, init) => {
    const { request, signal } = requestOf(input, init)
    signal?.throwIfAborted()
    try {
      const response = await answer({ models, hooks, request, signal })
      if (request.method !== 'HEAD') return response
      return new Response(null, response)
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      return failure(errorAnswer(error))
    }
  }
}

/** Throws a TypeError if it is not a request, as `fetch` does. */
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

interface Call {
  readonly models: Models
  readonly hooks: Hooks
  readonly request: Request
  readonly signal: AbortSignal | undefined
}

/** Routes that need a chat model. */
const CHATS = ['POST /chat/completions', 'POST /completions', 'POST /responses']
const KNOWN =
  'POST /v1/chat/completions, /v1/responses, /v1/completions, /v1/embeddings or /v1/rerank, or GET /v1/models'

async function answer(call: Call): Promise<Response> {
  const { models, hooks, request, signal } = call
  const { pathname } = new URL(request.url)
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const route = `${method} ${/\/v1(\/.*?)\/?$/.exec(pathname)?.[1] ?? pathname}`
  if (CHATS.includes(route)) return converse(call, route)
  if (route === 'POST /embeddings') {
    const params = (await readBody(request, signal)) as unknown as Given<EmbeddingParams>
    return Response.json(await embeddings(models.for('embed', params.model), params, hooks, signal))
  }
  if (route === 'POST /rerank') {
    const params = (await readBody(request, signal)) as unknown as Given<RerankParams>
    return Response.json(await rerank(models.for('rerank', params.model), params, hooks, signal))
  }
  const listed = [...models.byId.keys()].map((id) => ({
    id,
    object: 'model',
    created: 0,
    owned_by: 'halfbyte',
  }))
  if (route === 'GET /models') return Response.json({ object: 'list', data: listed })
  const model = listed.find(({ id }) => route === `GET /models/${encodeURIComponent(id)}`)
  if (model !== undefined) return Response.json(model)
  return failure(
    errorOf(
      404,
      `${request.method} ${pathname} is not an endpoint of this server; use ${KNOWN}`,
      'not_found',
    ),
  )
}

const NO_CHAT = 'is not a chat model; use POST /v1/embeddings or /v1/rerank, or load a chat model as well'

async function converse({ models, hooks, request, signal }: Call, route: string): Promise<Response> {
  const body = await readBody(request, signal)
  const engine = models.for('chat', body['model'])
  if (isEmbedder(engine))
    throw new HalfbyteError('unsupported', `${engine.model.id} ${NO_CHAT}`, { name: 'model' })
  if (route === 'POST /responses') return respond(engine, body, hooks, signal)
  if (route === 'POST /chat/completions') return chat(engine, body as unknown as ChatFields, hooks, signal)
  const params = body as unknown as Given<TextCompletionParams>
  const texts = (signal?: AbortSignal) => textCompletions(engine, params, hooks, signal)
  if (params.stream !== true) return Response.json(await collect(texts(signal)))
  return eventStream((signal) => withUsage(texts(signal), params), signal)
}

async function chat(
  engine: Engine,
  params: ChatFields,
  { onWarning, onUsage }: Hooks,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const read = readFrom('the request', () => chatRequest(params, engine.model.sampling, onWarning))
  const request = { ...read, onResult: tellUsage(engine, onUsage) }
  if (request.isStream) return eventStream((signal) => chunks(engine, request, signal), signal)
  return Response.json(await completion(engine, request, signal))
}

async function respond(
  engine: Engine,
  params: JsonObject,
  { onWarning, onUsage }: Hooks,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const request = responsesRequest(params, engine.model.sampling, onWarning)
  const start = (signal: AbortSignal | undefined) =>
    responseEvents(engine, params, { ...request, onResult: tellUsage(engine, onUsage) }, signal)
  if (request.isStream) return eventStream(start, signal)
  let whole: ResponseObject | undefined
  for await (const { response } of start(signal)) whole = response ?? whole
  return Response.json(whole)
}

/** The chunks, without the last one, which has the usage, unless it was requested. */
async function* withUsage(
  chunks: AsyncIterable<TextCompletion>,
  { stream_options }: Given<TextCompletionParams>,
): AsyncGenerator<TextCompletion, void> {
  for await (const chunk of chunks) {
    if (chunk.usage === undefined || stream_options?.include_usage === true) yield chunk
  }
}
