// The page's side of an engine: calls that preserve error classes, honour signals, and never hang on a dead
// worker.

import { type Endpoint, type Remote, transfer, wrap } from 'comlink'
import { plainOf } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { follow } from '../../core/base/time/abort.ts'
import type { EngineInfo, LoadProgress } from '../types/model.ts'
import type { Connection } from './connection.ts'
import type { EngineService, GenerateRequest, LoadCommand, LoadReport, LoadRequest } from './protocol.ts'
import { type Feed, openFeed, type Sink } from './reply-stream.ts'
import { keepErrorClasses } from './wire-failure.ts'

/** How long (ms) a busy worker may take to free its model before it is terminated. */
const DISPOSE_MS = 2000

/** A call that a message through `port` can abort. */
export type LongAsk<T> = (service: Remote<EngineService>, port: MessagePort) => Promise<T>

export interface LoadHooks {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined
  /** Called with the bytes of memory that the model needs with a full context, before any is allocated. */
  readonly onNeed?: ((neededBytes: number) => void) | undefined
}

/**
 * The page's side of an engine. If the other side dies, everything pending rejects with `internal`, and later
 * calls reject with `disposed`.
 */
export class EngineClient {
  /** Number of sessions so far; the next one's id is one more. */
  sessions = 0
  readonly #connection: Connection
  readonly #line: Line
  readonly #service: Remote<EngineService>
  /** Functions that reject the pending calls and streams, one each. */
  readonly #pending = new Set<(error: unknown) => void>()
  #ended: HalfbyteError | undefined
  #disposing: Promise<void> | undefined

  constructor(connection: Connection) {
    keepErrorClasses()
    this.#connection = connection
    this.#line = { to: connection.endpoint }
    this.#service = wrap<EngineService>(endOf(this.#line))
    connection.onDeath((why, missing) => {
      if (missing !== undefined) {
        const error = notLoaded(missing.address)
        this.#end(error, error)
        return
      }
      const sentence = `: ${why}; load the model again`
      this.#end(
        new HalfbyteError('internal', `the engine's worker failed${sentence}`, { why }),
        new HalfbyteError('disposed', `the engine's worker failed earlier${sentence}`, { why }),
      )
    })
  }

  /** True once no more calls are possible. */
  get isOver(): boolean {
    return this.#ended !== undefined
  }

  /**
   * Loads the model. Rejects at once if the signal aborts, with its reason, or if a callback throws, with
   * that error; the worker stops as soon as it can.
   */
  async load(request: LoadRequest, { signal, onProgress, onNeed }: LoadHooks = {}): Promise<EngineInfo> {
    signal?.throwIfAborted()
    const unwatch = this.#connection.watch()
    const ended = new AbortController()
    const unfollow = follow(ended, signal)
    const tell = async ({ data }: MessageEvent<LoadReport>) => {
      if (ended.signal.aborted) return
      try {
        if (data.type === 'need') onNeed?.(data.neededBytes)
        // A callback may be an async function, whose failure nobody would handle.
        else await onProgress?.(data.progress)
      } catch (error) {
        ended.abort(error)
      }
    }
    const listen = (port: MessagePort) => {
      port.onmessage = (event) => void tell(event)
    }
    try {
      return await this.callAbortable(ended.signal, (service, port) => service.load(request, port), listen)
    } finally {
      unfollow()
      unwatch()
    }
  }

  /**
   * Makes a long call. An aborted signal rejects at once with its reason; the worker stops as soon as it can.
   */
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
          // The generation was never sent, because it was aborted before its turn.
          port2.close()
        })
    })
  }

  /** Makes a call that has one answer. */
  call<T>(ask: (service: Remote<EngineService>) => Promise<T>): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    return new Promise<T>((resolve, reject) => {
      this.#pending.add(reject)
      ask(this.#service)
        .then(resolve, (error) => reject(error?.name === 'DataCloneError' ? unsendable(error) : error))
        .finally(() => this.#pending.delete(reject))
    })
  }

  /**
   * Starts a generation. `sink` receives its chunks and then its end. Throws `disposed` if the engine has
   * ended.
   */
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
      prefill: (progress) => sink.prefill(progress),
      chunk: (chunk) => sink.chunk(chunk),
      end: (outcome, contextUsed) => {
        if (this.#pending.delete(fail)) sink.end(outcome, contextUsed)
      },
      fail,
    })
    this.call((service) => service.generate(request, transfer(port2, [port2]))).catch(fail)
    return feed
  }

  /**
   * Ends the worker unless `work` settles within `ms`. Pending and later calls then reject with `disposed`.
   */
  async endUnless(work: Promise<unknown>, ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const patience = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, ms, 'late')
    })
    const first = await Promise.race([work.catch(() => undefined), patience])
    clearTimeout(timer)
    if (first !== 'late' || this.isOver) return
    const gone = new HalfbyteError(
      'disposed',
      `the worker was terminated, because a call kept running for ${ms} ms after it was aborted; load it again`,
      { ms },
    )
    this.#end(gone, gone)
  }

  /** Ends the worker at once. No calls are possible afterwards. */
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

const notLoaded = (address: string): HalfbyteError =>
  new HalfbyteError(
    'worker',
    `the engine's worker script ${address} did not load; check that the build has this file ` +
      "(node_modules/halfbyte/docs/guide/bundlers.md), the server (404? CORS?) and the page's policy (worker-src)",
    { address },
  )

/** A connection to the other side that can be closed. */
interface Line {
  to: Endpoint | undefined
}

/**
 * The endpoint that Comlink uses. Comlink's proxy registry keeps it forever, and a port or worker keeps its
 * listeners, including the client and its proxy. Without closing it, none of them would be garbage collected.
 */
const endOf = (line: Line): Endpoint => ({
  postMessage(message, transfer) {
    line.to?.postMessage(plainOf('the data sent to the engine', message), transfer)
  },
  addEventListener: (type, listener) => line.to?.addEventListener(type, listener),
  removeEventListener: () => undefined,
  start: () => line.to?.start?.(),
})

const unsendable = ({ message }: DOMException): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `the engine's worker only accepts plain data: ${message}; leave out functions`,
  )
