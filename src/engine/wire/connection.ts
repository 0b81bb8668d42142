// Connections. In: a worker, or a service in this thread. Out: a Comlink endpoint and word of its death.
import { type Endpoint, expose } from 'comlink'
import { randomId } from '../../base/random-id.ts'
import { attendComputeWorkers } from './compute-link.ts'
import { keepErrorClasses } from './failure.ts'
import type { EngineService } from './protocol.ts'
import { sameOriginScript } from './script.ts'

/** A line to an engine service, wherever it runs. */
export interface Connection {
  readonly endpoint: Endpoint
  /** Calls `listener` when the other side has failed or gone, with why; perhaps more than once. */
  onDeath(listener: (why: string) => void): void
  /** From now on silence counts as death, until what is returned is called. For long calls: an answer ends the need. */
  watch(): () => void
  /** Ends the other side. */
  close(): void
}

/**
 * Beside Comlink's messages: the page names a lock, the worker takes it for its whole life and says so. Browsers tell
 * nobody when a worker closes itself or is killed, but they free its locks.
 */
type LifeMessage =
  | { readonly type: 'hold'; readonly lock: string }
  | { readonly type: 'held' }
  | { readonly type: 'ping' | 'pong' }
  /** A message came that could not be read, perhaps a call: nobody knows which. */
  | { readonly type: 'unread' }

const UNREAD = 'a message could not be read'

/** Rounds without an answer after which a worker is taken for dead: a minute in which this page itself was awake. */
const PING_MS = 5000
const SILENT_PINGS = 12

/** Starts the engine worker, from the script at `url` when given. */
export function startEngineWorker(url?: string | URL): Connection {
  return workerConnection(
    url === undefined
      ? new Worker(new URL('../../../workers/engine.worker.ts', import.meta.url), { type: 'module' })
      : new Worker(sameOriginScript(new URL(url, globalThis.location.href)), { type: 'module' }),
  )
}

/** Watches a worker: errors it did not catch, messages that could not be read, and, where there are locks, its end. */
export function workerConnection(worker: Worker): Connection {
  const closed = new AbortController()
  const endComputeWorkers = attendComputeWorkers(worker)
  const deaths: ((why: string) => void)[] = []
  return {
    endpoint: worker,
    onDeath(listener) {
      deaths.push(listener)
      worker.addEventListener('error', (event) => listener(event.message || 'its script could not be loaded'))
      worker.addEventListener('messageerror', () => listener(UNREAD))
      worker.addEventListener('message', ({ data }: MessageEvent<LifeMessage | undefined>) => {
        if (data?.type === 'unread') listener(UNREAD)
      })
      watchLife(worker, closed.signal, () => listener('it ended'))
    },
    watch: () =>
      watchSilence(worker, () => {
        for (const listener of deaths)
          listener(`it has said nothing for ${(PING_MS * SILENT_PINGS) / 1000} s`)
      }),
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
    // Where locks are refused or the connection was closed, there is nothing to learn.
    if (data?.type === 'held') locks.request(lock, { signal }, ended).catch(() => undefined)
  })
  worker.postMessage({ type: 'hold', lock } satisfies LifeMessage)
}

/** Asks the worker for a word again and again; a page that slept has asked seldom and waits longer. */
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

/** The worker's side of `workerConnection`: answers with `service` in the worker whose global scope this is. */
export function serveConnection(service: EngineService): void {
  keepErrorClasses()
  globalThis.addEventListener('messageerror', () =>
    globalThis.postMessage({ type: 'unread' } satisfies LifeMessage),
  )
  globalThis.addEventListener('message', ({ data }: MessageEvent<LifeMessage | undefined>) => {
    if (data?.type === 'ping') globalThis.postMessage({ type: 'pong' } satisfies LifeMessage)
    if (data?.type !== 'hold') return
    const forLife = () => {
      globalThis.postMessage({ type: 'held' } satisfies LifeMessage)
      return new Promise<never>(() => undefined)
    }
    navigator.locks.request(data.lock, forLife).catch(() => undefined)
  })
  expose(service)
}

/** A service in this thread behind a channel: the same wire, no worker. */
export function localConnection(service: EngineService): Connection {
  const { port1, port2 } = new MessageChannel()
  keepErrorClasses()
  expose(service, port2)
  return {
    endpoint: port1,
    onDeath(listener) {
      for (const port of [port1, port2]) port.addEventListener('messageerror', () => listener(UNREAD))
      port1.addEventListener('close', () => listener('its port was closed'))
    },
    // A thread cannot outlive its own silence.
    watch: () => () => undefined,
    close: () => port1.close(),
  }
}
