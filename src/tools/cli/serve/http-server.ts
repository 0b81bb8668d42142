// An HTTP server that answers like OpenAI's, with models in this process. Adds limits, metrics and shutdown.
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type NamedEngines,
  type OpenAIFetch,
  type OpenAIFetchOptions,
  openaiFetch,
} from '../../../adapters/openai.ts'
import { servedModels } from '../../../adapters/openai-server/models.ts'
import type { Embedder } from '../../../encoders/embedder/embedder.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import { systemError } from '../terminal/failure.ts'
import { Access, shownHost } from './access.ts'
import { ApiKeys } from './api-keys.ts'
import { Handler } from './handler.ts'
import { type Load, type RequestLine, ServerMetrics } from './metrics.ts'
import type { BodyLimits } from './request-bodies.ts'
import { MAX_UNSENT_BYTES } from './send.ts'
import { StoredEngines } from './stored-engines.ts'

export interface ServeOptions {
  /** Address to listen on. Default: 127.0.0.1, which only programs on this machine can reach. */
  readonly host?: string | undefined
  /** 0: any free port. */
  readonly port: number
  /** Requests without one of these keys are rejected with 401. Default: no key is needed. */
  readonly keys?: ApiKeys | undefined
  /** Origins whose pages may send requests; `*` for all. Default: none. */
  readonly origins?: readonly string[] | undefined
  /** Answers `/v1/embeddings`. Default: the model. */
  readonly embedder?: Embedder | undefined
  /** Answers `/v1/rerank`. Default: the model. */
  readonly reranker?: Embedder | undefined
  /**
   * Maximum concurrent requests; more are rejected with 429. A request whose body is still being received
   * does not count, nor does one whose complete answer waits for its client to read it.
   */
  readonly maxRequests: number
  /** Maximum open connections; requests on further ones are rejected with 503. Default 1024. */
  readonly maxConnections?: number | undefined
  /** For tests. */
  readonly limits?: Partial<ServerLimits> | undefined
  /** Called at the end of each request. */
  readonly onRequest?: ((line: RequestLine) => void) | undefined
  readonly onWarning?: ((sentence: string) => void) | undefined
}

interface ServerLimits {
  readonly bodies: Partial<BodyLimits>
  /** Maximum time from the first byte of a request to the last byte of its headers. */
  readonly headersMilliseconds: number
  /** How long a client may read nothing while its answer is being sent. */
  readonly readMilliseconds: number
}

export interface Serving {
  /** The base address for clients, with `/v1`. */
  readonly address: string
  /** Requests whose answer has not been sent yet. */
  readonly open: number
  /**
   * Accepts no more requests, gives those in progress `milliseconds` to end, and aborts the rest. Resolves to
   * the number of aborted requests once the port is free.
   */
  stop(milliseconds: number): Promise<number>
  /** Like `stop(0)`. */
  close(): Promise<void>
}

const MAX_CONNECTIONS = 1024
/** Connections beyond `maxConnections` that still get an answer; Node just closes further ones. */
const REFUSED_CONNECTIONS = 256
/** Maximum time from the first byte of a request to the last. */
const LONGEST_REQUEST_MILLISECONDS = 300_000
const LONGEST_HEADERS_MILLISECONDS = 30_000
const LONGEST_READ_MILLISECONDS = 60_000

/** A single model, several by name, or those of the store. */
export type Served = Engine | Embedder | NamedEngines | StoredEngines

/**
 * Throws `unsupported` if the address cannot be used, for example because another program has the port.
 */
export async function serveEngine(models: Served, options: ServeOptions): Promise<Serving> {
  const { host = '127.0.0.1', port, limits = {}, maxConnections = MAX_CONNECTIONS } = options
  const { headersMilliseconds = LONGEST_HEADERS_MILLISECONDS } = limits
  const server = createServer({
    highWaterMark: MAX_UNSENT_BYTES,
    requestTimeout: LONGEST_REQUEST_MILLISECONDS,
    headersTimeout: headersMilliseconds,
    connectionsCheckingInterval: Math.min(headersMilliseconds, 5000),
  })
  server.maxConnections = maxConnections + REFUSED_CONNECTIONS
  const connections = new Connections(server, maxConnections)
  const handler = newHandler(models, options, connections)
  server.on('request', (request, response) => void handler.handle(request, response))
  server.on('connect', (request, socket: Socket) => handler.refuseTunnel(request, socket))
  await listening(server, host, port)
  const stop = async (milliseconds: number) => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    const ended = handler.stop()
    if (milliseconds > 0) {
      const patience = new AbortController()
      await Promise.race([ended, wait(milliseconds, undefined, { signal: patience.signal })])
      patience.abort()
    }
    const cut = handler.open
    handler.abort()
    server.closeAllConnections()
    await closed
    return cut
  }
  return {
    address: `http://${shownHost(host)}:${(server.address() as AddressInfo).port}/v1`,
    get open() {
      return handler.open
    },
    stop,
    close: async () => void (await stop(0)),
  }
}

function newHandler(
  models: Served,
  { onWarning, onRequest, embedder, reranker, maxRequests, ...options }: ServeOptions,
  connections: Connections,
): Handler {
  const { host = '127.0.0.1', origins = [], keys = new ApiKeys([]), limits = {} } = options
  const metrics = new ServerMetrics()
  const { answer, memory } = answersOf(models, {
    onWarning,
    embedder,
    reranker,
    onUsage: (usage) => metrics.used(usage),
  })
  const handler = new Handler({
    access: new Access({ host, origins, keys }),
    answer,
    metrics: async () =>
      metrics.text({
        running: handler.running,
        receiving: handler.receiving,
        maxRequests,
        connections: connections.count,
        memory: await memory(),
      }),
    maxRequests,
    bodyLimits: limits.bodies,
    stallMilliseconds: limits.readMilliseconds ?? LONGEST_READ_MILLISECONDS,
    isSurplus: (socket) => connections.isSurplus(socket),
    onRequest: (line) => {
      metrics.ended(line)
      onRequest?.(line)
    },
  })
  return handler
}

function answersOf(
  models: Served,
  options: OpenAIFetchOptions,
): { readonly answer: OpenAIFetch; readonly memory: () => Promise<Load['memory']> } {
  if (models instanceof StoredEngines)
    return { answer: models.answers(options), memory: () => models.memory() }
  const { embedder, reranker } = options
  const { byId } = servedModels(models, { embedder, reranker })
  return {
    answer: openaiFetch(models, options),
    memory: () =>
      Promise.all(Array.from(byId, async ([model, each]) => ({ model, use: await each.memory() }))),
  }
}

/** Counts connections, and remembers which ones exceeded the limit. */
class Connections {
  readonly #surplus = new WeakSet<Socket>()
  #count = 0

  constructor(server: Server, most: number) {
    server.on('connection', (socket: Socket) => {
      this.#count++
      socket.once('close', () => this.#count--)
      if (this.#count > most) this.#surplus.add(socket)
    })
  }

  get count(): number {
    return this.#count
  }

  isSurplus(socket: Socket): boolean {
    return this.#surplus.has(socket)
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
