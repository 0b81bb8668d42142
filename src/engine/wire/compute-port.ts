// Compute ports. In: the address of a worker script. Out: a port to a compute worker that the page starts.
import type { ComputePort, WorkerReply } from '../../runtime/host.ts'
import type { ToEngine, ToPage } from './compute-link.ts'

let started = 0

/** The engine worker's part: asks for one more compute worker and returns a port to it. */
export function startComputeWorker(script?: string): ComputePort {
  const number = ++started
  const { port1, port2 } = new MessageChannel()
  const stopListening = new AbortController()
  const post = (message: ToPage, transfer: Transferable[] = []) =>
    globalThis.postMessage(message, { transfer })
  post({ type: 'compute-start', number, script, port: port2 }, [port2])
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
