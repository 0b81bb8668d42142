// The host in the leading tab: its own engine, which answers this tab and, through `serveTabs`, the others.
import { isHalfbyteError } from '../../../core/base/errors.ts'
import { unlessAborted } from '../../../core/base/time/abort.ts'
import type { EngineInfo, LoadProgress } from '../../types/model.ts'
import { EngineClient } from '../../wire/client.ts'
import type { Connection } from '../../wire/connection.ts'
import type { EngineService, LoadRequest } from '../../wire/protocol.ts'
import type { Feed } from '../../wire/reply-stream.ts'
import { CALLS, type CallName, type Host, Lost } from './tab-messages.ts'

export interface LocalEngine extends Host {
  /** Rejects if the load fails. */
  readonly loaded: Promise<EngineInfo>
}

/**
 * Starts the load. `onDeath` is called when the engine has ended: its worker has died, or its threads have
 * died so that it no longer answers. It may be called more than once.
 */
export function localHost(
  connection: Connection,
  request: LoadRequest,
  hooks: {
    readonly onProgress: (progress: LoadProgress) => void
    readonly onNeed: (neededBytes: number) => void
    readonly onDeath: () => void
  },
): LocalEngine {
  const client = new EngineClient(connection)
  connection.onDeath(() => hooks.onDeath())
  const ended = new AbortController()
  const lost = new Promise<never>((_, reject) => {
    ended.signal.addEventListener('abort', () => reject(new Lost()))
  })
  lost.catch(() => undefined)
  const loaded = client.load(request, { ...hooks, signal: ended.signal })
  loaded.catch(() => undefined)
  /** An ended engine has not started the requests that it rejects, so they can be sent to the next one. */
  const seen = (error: unknown): unknown => {
    if (ended.signal.aborted) return new Lost()
    if (!isOver(error)) return error
    hooks.onDeath()
    return new Lost()
  }
  return {
    loaded,
    async call(name, args, signal) {
      // A tab that takes over receives requests before it has the model.
      const info = await unlessAborted(Promise.race([loaded, lost]), signal)
      if (name === 'load') return info
      const ask = (service: unknown, ...more: readonly unknown[]) =>
        (service as Service)[name](...args, ...more)
      const answer = CALLS[name].hasPort
        ? client.callAbortable(signal, (service, port) => ask(service, port))
        : client.call((service) => ask(service))
      return Promise.race([answer, lost]).catch((error) => {
        throw seen(error)
      })
    },
    generate(asked, sink) {
      const fail = (error: unknown) => sink.fail(seen(error))
      let feed: Feed | undefined
      let isCancelled = false
      loaded
        .then(() => {
          feed = client.generate(asked, { ...sink, fail })
          if (isCancelled) feed.cancel()
        })
        .catch(fail)
      return {
        credit: (count) => feed?.credit(count),
        cancel() {
          isCancelled = true
          feed?.cancel()
        },
      }
    },
    lose() {
      ended.abort()
      void client.dispose()
    },
  }
}

/** An engine that could not even be started: everything fails with `error`. */
export function failedHost(error: unknown): LocalEngine {
  const loaded = Promise.reject(error)
  loaded.catch(() => undefined)
  return {
    loaded,
    call: () => loaded,
    generate(_, sink) {
      queueMicrotask(() => sink.fail(error))
      return { credit: () => undefined, cancel: () => undefined }
    },
    lose: () => undefined,
  }
}

const isOver = (error: unknown): boolean => isHalfbyteError(error) && error.code === 'disposed'

type Service = { readonly [Name in CallName & keyof EngineService]: (...args: unknown[]) => Promise<unknown> }
