// The worker's side of a connection. In: an engine service. Out: answers to the page that started this
// worker.
//
// This file starts no worker: a bundler would otherwise follow the engine worker's script into itself.
import { expose } from 'comlink'
import type { HostAssets } from '../host.ts'
import { keepErrorClasses } from './failure.ts'
import type { LifeMessage } from './life.ts'
import type { EngineService } from './protocol.ts'

/**
 * The worker's side of `workerConnection`: answers with `service`, in the worker whose global scope this is.
 * `prepare` is called if the worker starts before there is something to load.
 */
export function serveConnection(service: EngineService, prepare: (assets: HostAssets) => void): void {
  keepErrorClasses()
  globalThis.addEventListener('messageerror', () =>
    globalThis.postMessage({ type: 'unread' } satisfies LifeMessage),
  )
  globalThis.addEventListener('message', ({ data }: MessageEvent<LifeMessage | undefined>) => {
    if (data?.type === 'ping') globalThis.postMessage({ type: 'pong' } satisfies LifeMessage)
    if (data?.type === 'prepare') prepare(data.assets)
    if (data?.type !== 'hold') return
    const forLife = () => {
      globalThis.postMessage({ type: 'held' } satisfies LifeMessage)
      return new Promise<never>(() => undefined)
    }
    // A sandboxed frame may have locks while its workers have none.
    navigator.locks?.request(data.lock, forLife).catch(() => undefined)
  })
  expose(service)
}
