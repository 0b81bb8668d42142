// A connection to an engine service, in a worker or in this thread, which notices the other side's death.
import { type Endpoint, expose } from 'comlink'
import { HalfbyteError } from '../../core/base/errors.ts'
import { randomId } from '../../core/base/values.ts'
import { attendComputeWorkers } from './compute-workers.ts'
import { addressOf, type LifeMessage, refusalOf, takeEngineWorker } from './script.ts'
import { keepErrorClasses } from './wire-failure.ts'

type DeathListener = (why: string, missing?: { readonly address: string }) => void

/** A connection to an engine service, wherever it runs. */
export interface Connection {
  readonly endpoint: Endpoint
  /**
   * Calls `listener` with the reason when the other side fails or ends, possibly more than once, and
   * immediately if it already has. `missing`: its script did not load, so it never began.
   */
  onDeath(listener: DeathListener): void
  /**
   * From now on silence counts as death, until the returned function is called. Used for long calls, until
   * they are answered.
   */
  watch(): () => void
  /** Ends the other side. */
  close(): void
}

const UNREAD = 'a message could not be read'

/**
 * Rounds without an answer after which a worker counts as dead: a minute during which this page itself was
 * awake.
 */
const PING_MS = 5000
const SILENT_PINGS = 12

export const NO_WORKERS =
  'no workers can be started here; load the engine in a page or in a dedicated worker, and in Node import the package unbundled'

/**
 * Starts the engine worker, from the script at `address` if given, or uses the prepared one.
 * Throws the same errors as `startedConnection`.
 */
export const startEngineWorker = (address?: string): Connection =>
  startedConnection(() => takeEngineWorker(address))

/**
 * A connection to the worker that `start` starts. Throws `unsupported` if there are no workers, and `worker`
 * if the browser rejects this one.
 */
export function startedConnection(start: () => Worker): Connection {
  if (globalThis.Worker === undefined) throw new HalfbyteError('unsupported', NO_WORKERS)
  try {
    return workerConnection(start())
  } catch (cause) {
    throw new HalfbyteError('worker', refusalOf(cause), {}, { cause })
  }
}

/**
 * Watches a worker for uncaught errors, for messages that could not be read and, if locks are available, for
 * its end.
 */
export function workerConnection(worker: Worker): Connection {
  const closed = new AbortController()
  let hasBegun = false
  const endComputeWorkers = attendComputeWorkers(worker)
  const listeners: DeathListener[] = []
  let death: Parameters<DeathListener> | undefined
  const die = (...how: Parameters<DeathListener>) => {
    death ??= how
    for (const listener of listeners) listener(...how)
  }
  const missing = () => die('its script did not load', { address: addressOf(worker) })
  // Listens from the start, because browsers report a failure only once, possibly before anyone listens.
  worker.addEventListener('error', ({ message }) =>
    // Browsers give no details about a script that they could not fetch.
    message || hasBegun ? die(message || 'it failed') : missing(),
  )
  worker.addEventListener('messageerror', () => die(UNREAD))
  worker.addEventListener('message', ({ data }: MessageEvent<LifeMessage | undefined>) => {
    hasBegun = true
    if (data?.type === 'unread') die(UNREAD)
    if (data?.type === 'missing') missing()
  })
  watchLife(worker, closed.signal, () => die('it ended'))
  return {
    endpoint: worker,
    onDeath(listener) {
      listeners.push(listener)
      if (death !== undefined) listener(...death)
    },
    watch: () =>
      watchSilence(worker, () => die(`it has not responded for ${(PING_MS * SILENT_PINGS) / 1000} s`)),
    close() {
      closed.abort()
      worker.terminate()
      endComputeWorkers()
    },
  }
}

function watchLife(worker: Worker, signal: AbortSignal, ended: () => void): void {
  const { locks } = navigator
  if (locks === undefined) return
  const lock = `halfbyte-${randomId()}`
  worker.addEventListener('message', ({ data }: MessageEvent<LifeMessage | undefined>) => {
    // If locks are denied or the connection was closed, there is nothing to watch.
    if (data?.type === 'held') locks.request(lock, { signal }, ended).catch(() => undefined)
  })
  worker.postMessage({ type: 'hold', lock } satisfies LifeMessage)
}

/** Pings the worker at intervals. A page that was asleep has sent few pings and therefore waits longer. */
function watchSilence(worker: Worker, fellSilent: () => void): () => void {
  let unanswered = 0
  const hear = ({ data }: MessageEvent<LifeMessage | undefined>) => {
    if (data?.type === 'pong') unanswered = 0
  }
  const ask = () => {
    if (unanswered++ < SILENT_PINGS) worker.postMessage({ type: 'ping' } satisfies LifeMessage)
    else fellSilent()
  }
  worker.addEventListener('message', hear)
  const timer = setInterval(ask, PING_MS)
  return () => {
    clearInterval(timer)
    worker.removeEventListener('message', hear)
  }
}

/** A connection to a service in this thread: the same protocol through a channel, without a worker. */
export function localConnection(service: object): Connection {
  const { port1, port2 } = new MessageChannel()
  keepErrorClasses()
  expose(service, port2)
  return {
    endpoint: port1,
    onDeath(listener) {
      for (const port of [port1, port2]) port.addEventListener('messageerror', () => listener(UNREAD))
      port1.addEventListener('close', () => listener('its port was closed'))
    },
    // A service in the same thread cannot die silently.
    watch: () => () => undefined,
    close: () => port1.close(),
  }
}
