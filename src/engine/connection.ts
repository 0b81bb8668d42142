// Connections. In: a worker, or a service in this thread. Out: a Comlink endpoint and word of its death.
import { type Endpoint, expose } from 'comlink'
import { keepErrorClasses } from './failure.ts'
import type { EngineService } from './protocol.ts'
import { sameOriginScript } from './script.ts'

/** A line to an engine service, wherever it runs. */
export interface Connection {
  readonly endpoint: Endpoint
  /** Calls `listener` when the other side has failed or gone, with why; perhaps more than once. */
  onDeath(listener: (why: string) => void): void
  /** Ends the other side. */
  close(): void
}

/**
 * Beside Comlink's messages: the page names a lock, the worker takes it for its whole life and says so. Browsers tell
 * nobody when a worker closes itself or is killed, but they free its locks.
 */
type LifeMessage = { readonly type: 'hold'; readonly lock: string } | { readonly type: 'held' }

/** Starts the engine worker, from the script at `url` when given. */
export function startEngineWorker(url?: string | URL): Connection {
  return workerConnection(
    url === undefined
      ? new Worker(new URL('../../workers/engine.worker.ts', import.meta.url), { type: 'module' })
      : new Worker(sameOriginScript(new URL(url, globalThis.location.href)), { type: 'module' }),
  )
}

/** Watches a worker: errors it did not catch, messages that could not be read, and, where there are locks, its end. */
export function workerConnection(worker: Worker): Connection {
  const closed = new AbortController()
  return {
    endpoint: worker,
    onDeath(listener) {
      worker.addEventListener('error', (event) => listener(event.message || 'its script could not be loaded'))
      worker.addEventListener('messageerror', () => listener('a message could not be read'))
      watchLife(worker, closed.signal, () => listener('it ended'))
    },
    close() {
      closed.abort()
      worker.terminate()
    },
  }
}

function watchLife(worker: Worker, signal: AbortSignal, ended: () => void): void {
  const { locks } = navigator
  if (locks === undefined) return
  const lock = `halfbyte-${crypto.randomUUID()}`
  worker.addEventListener('message', ({ data }: MessageEvent<LifeMessage | undefined>) => {
    // Where locks are refused or the connection was closed, there is nothing to learn.
    if (data?.type === 'held') locks.request(lock, { signal }, ended).catch(() => undefined)
  })
  worker.postMessage({ type: 'hold', lock } satisfies LifeMessage)
}

/** The worker's side of `workerConnection`: answers with `service` in the worker whose global scope this is. */
export function serveConnection(service: EngineService): void {
  keepErrorClasses()
  globalThis.addEventListener('message', ({ data }: MessageEvent<LifeMessage | undefined>) => {
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
      port1.addEventListener('messageerror', () => listener('a message could not be read'))
      port1.addEventListener('close', () => listener('its port was closed'))
    },
    close: () => port1.close(),
  }
}
