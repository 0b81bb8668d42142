// An HTTP server that answers like OpenAI's, from models in this process: access control, the request limit,
// and the conversion between Node's requests and the adapter's.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { openaiFetch } from '../../../adapters/openai.ts'
import { shown } from '../../../core/base/check-options.ts'
import type { Embedder } from '../../../encoders/embedder/embedder.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import { systemError } from '../terminal/failure.ts'
import { type BodyLimits, busy, RefusedBody, RequestBodies } from './request-bodies.ts'

export interface ServeOptions {
  /** Address to listen on. Default: 127.0.0.1, which only programs of this machine reach. */
  readonly host?: string | undefined
  /** 0: any free port. */
  readonly port: number
  /** Requests without this key are rejected with 401. Default: no key. */
  readonly apiKey?: string | undefined
  /** Origins of pages that may ask; `*` for all. Default: none. */
  readonly origins?: readonly string[] | undefined
  /** Makes the vectors of `/v1/embeddings`. Default: the model. */
  readonly embedder?: Embedder | undefined
  /** Answers `/v1/rerank`. Default: the model. */
  readonly reranker?: Embedder | undefined
  /**
   * Requests that are answered at a time; more are rejected with 429. A request whose body is still being
   * received does not count.
   */
  readonly mostRequests: number
  /** For tests. */
  readonly bodyLimits?: Partial<BodyLimits> | undefined
  /** Called at the end of each request. */
  readonly onRequest?: ((line: RequestLine) => void) | undefined
  readonly onWarning?: ((sentence: string) => void) | undefined
}

export interface RequestLine {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly milliseconds: number
}

export interface Serving {
  /** The base address for clients, with `/v1`. */
  readonly address: string
  /** Aborts the replies in progress, and resolves when the port is free. */
  close(): Promise<void>
}

const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost']
/** From the first byte of a request to its last. */
const LONGEST_REQUEST_MILLISECONDS = 300_000
const shownHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

export const isLoopback = (host: string): boolean => LOOPBACK.includes(shownHost(host))

/** Throws `unsupported` if the address cannot be taken, for example because another program has the port. */
export async function serveEngine(engine: Engine | Embedder, options: ServeOptions): Promise<Serving> {
  const { host = '127.0.0.1', port } = options
  const handler = new Handler(engine, options)
  const server = createServer(
    { requestTimeout: LONGEST_REQUEST_MILLISECONDS },
    (request, response) => void handler.handle(request, response),
  )
  server.on('connect', (request, socket: Socket) => handler.refuseTunnel(request, socket))
  await listening(server, host, port)
  return {
    address: `http://${shownHost(host)}:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      handler.abort()
      server.closeAllConnections()
      await closed
    },
  }
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(
        systemError(error, 'unsupported', `port ${port} of ${host}`, 'choose another with --port or --host'),
      )
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      resolve()
    })
  })
}

class Handler {
  readonly #answer: ReturnType<typeof openaiFetch>
  readonly #options: ServeOptions
  readonly #stop = new AbortController()
  readonly #bodies: RequestBodies
  #answering = 0

  constructor(engine: Engine | Embedder, options: ServeOptions) {
    const { onWarning, embedder, reranker } = options
    this.#answer = openaiFetch(engine, { onWarning, embedder, reranker })
    this.#options = options
    this.#bodies = new RequestBodies(options.bodyLimits)
  }

  abort(): void {
    this.#stop.abort()
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const started = performance.now()
    const { method = 'GET', url: path = '/' } = request
    try {
      await this.#respond(request, response)
    } catch {
      // The client has disconnected, or the server is closing: nobody reads an answer.
      response.destroy()
    }
    const milliseconds = performance.now() - started
    this.#options.onRequest?.({ method, path, status: response.statusCode, milliseconds })
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(this.#sharing(request))) response.setHeader(name, value)
    const refused = this.#refusal(request)
    if (refused !== undefined) return send(response, refused)
    if (request.method === 'OPTIONS') return send(response, new Response(null, { status: 204 }))
    const target = webTarget(request)
    if (target === undefined) return send(response, wrongTarget(request))
    try {
      this.#checkPlaces()
      const { method } = target
      using body = hasBody(method) ? await this.#bodies.read(request) : undefined
      this.#checkPlaces()
      await this.#answerTo(new Request(target, { body: body?.bytes ?? null }), response)
    } catch (error) {
      if (!(error instanceof RefusedBody)) throw error
      if (error.status !== 408) return send(response, refusedBody(error))
      // A client that stopped sending may not read either, so nothing is written to its connection.
      response.statusCode = error.status
      response.destroy()
    }
  }

  async #answerTo(request: Request, response: ServerResponse): Promise<void> {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([this.#stop.signal, gone.signal])
    this.#answering += 1
    try {
      await send(response, await this.#answer(request, { signal }))
    } finally {
      this.#answering -= 1
    }
  }

  #checkPlaces(): void {
    const { mostRequests } = this.#options
    if (this.#answering >= mostRequests) throw busy(`${mostRequests} requests are under way`)
  }

  /** The only request that Node passes without a response. */
  refuseTunnel({ url: path = '' }: IncomingMessage, socket: Socket): void {
    // A client that resets the connection also counts as disconnected.
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    this.#options.onRequest?.({ method: 'CONNECT', path, status: 400, milliseconds: 0 })
  }

  /** Headers that let a page of an allowed origin read the answer. */
  #sharing({ headers }: IncomingMessage): Record<string, string> {
    if (headers.origin === undefined || !this.#isAllowed(headers.origin)) return {}
    return {
      'access-control-allow-origin': headers.origin,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': headers['access-control-request-headers'] ?? '*',
      'access-control-allow-private-network': 'true',
      vary: 'origin',
    }
  }

  #isAllowed(origin: string): boolean {
    const { origins = [] } = this.#options
    return origins.includes('*') || origins.includes(origin)
  }

  #refusal({ method, headers }: IncomingMessage): Response | undefined {
    const { host = '127.0.0.1', apiKey } = this.#options
    const { origin } = headers
    // A page whose name leads to this machine would be of the same origin, and needs no permission.
    const name = headers.host?.replace(/:\d+$/, '') ?? ''
    if (isLoopback(host) && !LOOPBACK.includes(name))
      return refusal(403, `the host ${name} is not this machine; use http://${shownHost(host)}`, 'wrong_host')
    if (origin !== undefined && !this.#isAllowed(origin))
      return refusal(
        403,
        `pages of ${origin} may not ask; start with --allow-origin ${origin}`,
        'wrong_origin',
      )
    if (method === 'OPTIONS') return undefined
    if (apiKey !== undefined && headers.authorization !== `Bearer ${apiKey}`)
      return refusal(401, 'the key is missing or wrong; send the one of --api-key', 'invalid_api_key')
    return undefined
  }
}

const refusal = (status: number, message: string, code: string): Response =>
  Response.json({ error: { message, type: 'invalid_request_error', param: null, code } }, { status })

function refusedBody({ status, message, code }: RefusedBody): Response {
  const answer = refusal(status, message, code)
  if (status === 429) answer.headers.set('retry-after', '1')
  return answer
}

const hasBody = (method: string): boolean => method !== 'GET' && method !== 'HEAD'

/** The request without its body. Undefined for an invalid target, and for proxy methods. */
function webTarget({ method = 'GET', url = '/' }: IncomingMessage): Request | undefined {
  try {
    // The target may also be a whole address, of any host.
    return new Request(new URL(url, 'http://localhost'), { method })
  } catch {
    return undefined
  }
}

const wrongTarget = ({ method, url }: IncomingMessage): Response =>
  refusal(
    400,
    `the request ${method} ${shown(url)} cannot be read; its target is a path such as /v1/models`,
    'bad_request',
  )

async function send(response: ServerResponse, { status, headers, body }: Response): Promise<void> {
  response.writeHead(status, Object.fromEntries(headers))
  if (body === null) response.end()
  else await pipeline(Readable.fromWeb(body as import('node:stream/web').ReadableStream), response)
}
