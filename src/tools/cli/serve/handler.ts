// Handles a request: checks access, reads the body, takes a slot, and sends the answer.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { OpenAIFetch } from '../../../adapters/openai.ts'
import { shown } from '../../../core/base/check-options.ts'
import { reasonOf } from '../../../core/base/errors.ts'
import type { Access } from './access.ts'
import type { RequestLine } from './metrics.ts'
import { PROMETHEUS_TYPE } from './prometheus.ts'
import { busy, Refusal, refusal, unavailable } from './refusal.ts'
import { type BodyLimits, RequestBodies } from './request-bodies.ts'
import { send } from './send.ts'

interface HandlerOptions {
  readonly access: Access
  readonly answer: OpenAIFetch
  /** The text of `/metrics`. */
  readonly metrics: () => Promise<string>
  readonly maxRequests: number
  readonly bodyLimits: Partial<BodyLimits> | undefined
  readonly stallMilliseconds: number
  /** Whether a connection is beyond the limit. */
  readonly isSurplus: (socket: Socket) => boolean
  readonly onRequest: (line: RequestLine) => void
}

const ROOT =
  "OpenAI's API is at /v1: POST /v1/chat/completions and others, GET /v1/models. GET /health and /metrics report on this server.\n"
const STOPPING = 'the server is stopping'

export class Handler {
  readonly #options: HandlerOptions
  readonly #bodies: RequestBodies
  readonly #abort = new AbortController()
  readonly #open = new Set<Promise<void>>()
  #isStopping = false
  #running = 0

  constructor(options: HandlerOptions) {
    this.#options = options
    this.#bodies = new RequestBodies(options.bodyLimits)
  }

  /** Requests that are being answered. */
  get running(): number {
    return this.#running
  }

  /** Requests that are being answered, or whose answer is not yet sent completely. */
  get open(): number {
    return this.#open.size
  }

  /** Requests whose body is being received. */
  get receiving(): number {
    return this.#bodies.readers
  }

  /** Rejects all requests from now on. Resolves when the running ones have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#bodies.refuseAll(unavailable(STOPPING))
    while (this.#open.size > 0) await Promise.all(this.#open)
  }

  /** Ends the answers in progress. */
  abort(): void {
    this.#abort.abort()
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const handled = this.#handle(request, response)
    this.#open.add(handled)
    await handled
    this.#open.delete(handled)
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const started = performance.now()
    const { method = 'GET', url: path = '/' } = request
    try {
      await this.#respond(request, response)
    } catch {
      // The client has disconnected or the server is closing, so nobody would read an answer.
      response.destroy()
    }
    const milliseconds = performance.now() - started
    this.#options.onRequest({ method, path, status: response.statusCode, milliseconds })
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { access, stallMilliseconds } = this.#options
    for (const [name, value] of Object.entries(access.sharing(request))) response.setHeader(name, value)
    try {
      this.#checkConnection(request)
      const refused = access.refuseSource(request)
      if (refused !== undefined) throw refused
      const own = await this.#ownAnswer(request)
      if (own !== undefined) return await send(response, own, stallMilliseconds)
      await this.#pass(request, response)
    } catch (error) {
      if (response.headersSent || response.closed) throw error
      await send(response, refusalOf(error).response(), stallMilliseconds)
    }
  }

  #checkConnection({ socket }: IncomingMessage): void {
    if (this.#isStopping) throw unavailable(STOPPING)
    if (this.#options.isSurplus(socket)) throw unavailable('too many clients are connected')
  }

  /** Answers requests that need neither a model nor a slot. Returns undefined for other requests. */
  async #ownAnswer(request: IncomingMessage): Promise<Response | undefined> {
    const { access, metrics } = this.#options
    const { method = 'GET', url = '/' } = request
    if (method === 'OPTIONS') return new Response(null, { status: 204 })
    const path = url.split('?', 1)[0]
    const isGet = method === 'GET' || method === 'HEAD'
    const reply = (text: string, type: string) =>
      new Response(method === 'HEAD' ? null : text, {
        headers: { 'content-type': type, 'cache-control': 'no-store' },
      })
    // Health probes often have no key.
    if (isGet && (path === '/health' || path === '/v1/health'))
      return reply('{"status":"ok"}', 'application/json')
    const refused = access.refuseKey(request)
    if (refused !== undefined) throw refused
    if (isGet && path === '/') return reply(ROOT, 'text/plain; charset=utf-8')
    if (isGet && path === '/metrics') return reply(await metrics(), PROMETHEUS_TYPE)
    return undefined
  }

  /** Passes a request to the models once its body has arrived and a slot is free. */
  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = webTarget(request)
    if (target === undefined) throw wrongTarget(request)
    this.#checkSlots()
    using body = hasBody(target.method) ? await this.#bodies.read(request) : undefined
    this.#checkSlots()
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([this.#abort.signal, gone.signal])
    this.#running += 1
    let isRunning = true
    const free = () => {
      if (isRunning) this.#running -= 1
      isRunning = false
    }
    try {
      const answer = await this.#options.answer(new Request(target, { body: body?.bytes ?? null }), {
        signal,
      })
      // An open connection would keep the server from stopping.
      if (this.#isStopping) response.setHeader('connection', 'close')
      await send(response, answer, this.#options.stallMilliseconds, free)
    } finally {
      free()
    }
  }

  #checkSlots(): void {
    const { maxRequests } = this.#options
    if (this.#isStopping) throw unavailable(STOPPING)
    if (this.#running >= maxRequests) throw busy(`${maxRequests} requests are in progress`)
  }

  /** Rejects CONNECT, the only request for which Node does not create a response. */
  refuseTunnel({ url: path = '' }: IncomingMessage, socket: Socket): void {
    // A client that resets the connection also counts as disconnected.
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    this.#options.onRequest({ method: 'CONNECT', path, status: 400, milliseconds: 0 })
  }
}

const refusalOf = (error: unknown): Refusal =>
  error instanceof Refusal ? error : refusal(500, reasonOf(error), 'internal')

const hasBody = (method: string): boolean => method !== 'GET' && method !== 'HEAD'

/** Returns the request without its body, or undefined for an invalid target or a method for proxies. */
function webTarget({ method = 'GET', url = '/' }: IncomingMessage): Request | undefined {
  try {
    // The target may also be a full URL of any host.
    return new Request(new URL(url, 'http://localhost'), { method })
  } catch {
    return undefined
  }
}

const wrongTarget = ({ method, url }: IncomingMessage): Refusal =>
  refusal(
    400,
    `the request ${method} ${shown(url)} cannot be read; its target is a path such as /v1/models`,
    'bad_request',
  )
