// Compute links. In: an engine worker and the page above it. Out: compute workers that the page starts and
// the engine talks to.
//
//   engine worker                          page                        compute worker
//   start: number, script, port  ------->  new Worker, port  ------->  serves the port
//   end: number                  ------->  terminate
//   <-------  failed: number, why          its error events
//
// An engine worker does not start compute workers itself. In Firefox `new Worker` inside a worker waits on
// the new worker's own condition variable for a signal from the main thread, which may wake the new worker
// instead. Then nothing ends the wait, not even closing the page.
import { reasonOf } from '../../base/errors.ts'
import type { ComputePort, WorkerReply } from '../../runtime/host.ts'
import { sameOriginScript } from './script.ts'

/** From an engine worker. `script` is an absolute address; absent: the script that came with the library. */
type ToPage =
  | {
      readonly type: 'compute-start'
      readonly number: number
      readonly script: string | undefined
      readonly port: MessagePort
    }
  | { readonly type: 'compute-end'; readonly number: number }

/** From the engine worker's page. */
type ToEngine = { readonly type: 'compute-failed'; readonly number: number; readonly why: string }

/** The first and only message from the page to a compute worker. */
export interface ComputeStart {
  readonly port: MessagePort
}

/** The page's part: starts the workers that `engine` asks for. Returns a function that ends all of them. */
export function attendComputeWorkers(engine: Worker): () => void {
  const workers = new Map<number, Worker>()
  const end = (number: number) => {
    workers.get(number)?.terminate()
    workers.delete(number)
  }
  const start = ({ number, script, port }: Extract<ToPage, { type: 'compute-start' }>) => {
    const failed = (why: string) =>
      engine.postMessage({ type: 'compute-failed', number, why } satisfies ToEngine)
    try {
      const worker = newWorker(script)
      workers.set(number, worker)
      worker.addEventListener('error', ({ message }) => failed(message || 'its script could not be loaded'))
      worker.addEventListener('messageerror', () => failed('a message to it could not be read'))
      worker.postMessage({ port } satisfies ComputeStart, [port])
    } catch (error) {
      failed(reasonOf(error))
    }
  }
  const listen = ({ data }: MessageEvent<ToPage | undefined>) => {
    if (data?.type === 'compute-start') start(data)
    else if (data?.type === 'compute-end') end(data.number)
  }
  engine.addEventListener('message', listen)
  return () => {
    engine.removeEventListener('message', listen)
    for (const number of [...workers.keys()]) end(number)
  }
}

function newWorker(script: string | undefined): Worker {
  return script === undefined
    ? new Worker(new URL('../../../workers/compute.worker.ts', import.meta.url), { type: 'module' })
    : new Worker(sameOriginScript(new URL(script)), { type: 'module' })
}

let started = 0

/** The engine worker's part: asks for one more compute worker and returns a port to it. */
export function startComputeWorker(script?: string | URL): ComputePort {
  const number = ++started
  const { port1, port2 } = new MessageChannel()
  const stopListening = new AbortController()
  const post = (message: ToPage, transfer: Transferable[] = []) =>
    globalThis.postMessage(message, { transfer })
  post({ type: 'compute-start', number, script: script?.toString(), port: port2 }, [port2])
  return {
    postMessage: (message, transfer = []) => port1.postMessage(message, transfer),
    onMessage: (listener) => {
      port1.onmessage = ({ data }: MessageEvent<WorkerReply>) => listener(data)
    },
    onError: (listener) => {
      port1.onmessageerror = () => listener(new Error('a message from it could not be read'))
      globalThis.addEventListener(
        'message',
        ({ data }: MessageEvent<ToEngine | undefined>) => {
          if (data?.type === 'compute-failed' && data.number === number) listener(new Error(data.why))
        },
        { signal: stopListening.signal },
      )
    },
    terminate: () => {
      stopListening.abort()
      port1.close()
      post({ type: 'compute-end', number })
    },
  }
}
