// The client. In: a connection. Out: calls that keep error classes, honour signals, and never hang on a dead worker.
import { type Endpoint, type Remote, transfer, wrap } from 'comlink'
import { HalfbyteError } from '../../base/errors.ts'
import { checkLevels } from '../../base/levels.ts'
import type { Connection } from './connection.ts'
import { keepErrorClasses } from './failure.ts'
import type {
  EngineInfo,
  EngineService,
  GenerateRequest,
  LoadCommand,
  LoadProgress,
  LoadReport,
  LoadRequest,
} from './protocol.ts'
import { type Feed, openFeed, type Sink } from './stream.ts'

/** How long a busy worker may take to let go of its model before it is ended anyway. */
const DISPOSE_MS = 2000

/** Asks for something that what comes through `port` can abort. */
export type LongAsk<T> = (service: Remote<EngineService>, port: MessagePort) => Promise<T>

export interface LoadHooks {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined
  /** Memory that the model takes with a full context, in bytes, before any is taken. */
  readonly onNeed?: ((neededBytes: number) => void) | undefined
}

/**
 * The page's side of an engine. When the other side dies, everything pending rejects with `internal`, and what is
 * asked later with `disposed`.
 */
export class EngineClient {
  readonly #connection: Connection
  readonly #line: Line
  readonly #service: Remote<EngineService>
  /** One per pending call or stream; each rejects its own. */
  readonly #pending = new Set<(error: unknown) => void>()
  #ended: HalfbyteError | undefined
  #disposing: Promise<void> | undefined

  constructor(connection: Connection) {
    keepErrorClasses()
    this.#connection = connection
    this.#line = { to: connection.endpoint }
    this.#service = wrap<EngineService>(endOf(this.#line))
    connection.onDeath((why) => {
      const sentence = `: ${why}; load the model again`
      this.#end(
        new HalfbyteError('internal', `the engine's worker failed${sentence}`, { why }),
        new HalfbyteError('disposed', `the engine's worker failed earlier${sentence}`, { why }),
      )
    })
  }

  /** True once nothing more can be asked. */
  get isOver(): boolean {
    return this.#ended !== undefined
  }

  /** Loads the model. An aborted signal rejects at once with its reason; the worker stops as soon as it can. */
  async load(request: LoadRequest, { signal, onProgress, onNeed }: LoadHooks = {}): Promise<EngineInfo> {
    const unwatch = this.#connection.watch()
    const listen = (port: MessagePort) => {
      port.onmessage = ({ data }: MessageEvent<LoadReport>) => {
        if (signal?.aborted === true) return
        if (data.type === 'need') onNeed?.(data.neededBytes)
        else onProgress?.(data.progress)
      }
    }
    return this.callAbortable(signal, (service, port) => service.load(request, port), listen).finally(unwatch)
  }

  /** Asks for something long. An aborted signal rejects at once with its reason; the worker stops as soon as it can. */
  async callAbortable<T>(
    signal: AbortSignal | undefined,
    ask: LongAsk<T>,
    listen?: (port: MessagePort) => void,
  ): Promise<T> {
    signal?.throwIfAborted()
    const { port1, port2 } = new MessageChannel()
    listen?.(port1)
    return new Promise<T>((resolve, reject) => {
      const abort = () => {
        port1.postMessage({ type: 'abort' } satisfies LoadCommand)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', abort)
      this.call((service) => ask(service, transfer(port2, [port2])))
        .then(resolve, reject)
        .finally(() => {
          signal?.removeEventListener('abort', abort)
          port1.close()
          // Never sent when the turn did not come.
          port2.close()
        })
    })
  }

  /** Asks the service for something that has one answer. */
  call<T>(ask: (service: Remote<EngineService>) => Promise<T>): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    return new Promise<T>((resolve, reject) => {
      this.#pending.add(reject)
      ask(this.#service)
        .then(resolve, (error) => reject(error?.name === 'DataCloneError' ? unsendable(error) : error))
        .finally(() => this.#pending.delete(reject))
    })
  }

  /** Starts a generation; `sink` gets its chunks and then its end. Throws `disposed` when there is no engine any more. */
  generate(request: GenerateRequest, sink: Sink): Feed {
    if (this.#ended !== undefined) throw this.#ended
    const { port1, port2 } = new MessageChannel()
    const fail = (error: unknown) => {
      if (!this.#pending.delete(fail)) return
      port1.close()
      sink.fail(error)
    }
    this.#pending.add(fail)
    const feed = openFeed(port1, {
      chunk: (chunk) => sink.chunk(chunk),
      end: (outcome, contextUsed) => {
        if (this.#pending.delete(fail)) sink.end(outcome, contextUsed)
      },
      fail,
    })
    this.call((service) => service.generate(request, transfer(port2, [port2]))).catch(fail)
    return feed
  }

  /** Ends the worker at once; nothing can be asked afterwards. */
  close(): void {
    this.#line.to = undefined
    this.#connection.close()
  }

  /** Rejects everything pending with `disposed`, frees the model, ends the worker. */
  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose()
    return this.#disposing
  }

  async #dispose(): Promise<void> {
    if (this.#ended !== undefined) return
    const gone = new HalfbyteError('disposed', 'the engine was disposed; load the model again')
    this.#rejectAll(gone)
    const freed = this.call((service) => service.dispose())
    this.#ended = gone
    let timer: ReturnType<typeof setTimeout> | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, DISPOSE_MS)
    })
    await Promise.race([freed.catch(() => undefined), patience])
    clearTimeout(timer)
    this.close()
  }

  #end(pending: HalfbyteError, later: HalfbyteError): void {
    if (this.#ended === undefined) this.#ended = later
    this.#rejectAll(pending)
    this.close()
  }

  #rejectAll(error: HalfbyteError): void {
    for (const reject of [...this.#pending]) reject(error)
    this.#pending.clear()
  }
}

/** A way to the other side that can be cut. */
interface Line {
  to: Endpoint | undefined
}

/**
 * What Comlink talks to. Its registry of proxies holds that for ever, and a port or a worker holds what listens to it, the
 * client and its proxy included: without a cut none of them would be collected.
 */
const endOf = (line: Line): Endpoint => ({
  postMessage(message, transfer) {
    // What the other side could not read would never be answered.
    checkLevels(message)
    line.to?.postMessage(message, transfer)
  },
  addEventListener: (type, listener) => line.to?.addEventListener(type, listener),
  removeEventListener: () => undefined,
  start: () => line.to?.start?.(),
})

const unsendable = ({ message }: DOMException): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `the engine's worker takes plain data only: ${message}; leave out functions`,
  )
