// Compute worker. In: a port to an engine worker, from the page. Out: kernels run on requests through it,
// until the pool ends.
import type { ComputeStart } from '../src/engine/browser-host.ts'
import type { ModelRequest } from '../src/runtime/host.ts'
import { workerThread } from '../src/runtime/worker-thread.ts'

self.addEventListener('message', ({ data: { port } }: MessageEvent<ComputeStart>) => {
  const handle = workerThread((reply) => port.postMessage(reply))
  // The page sees this as a failed script and tells the engine.
  port.onmessageerror = () => {
    throw new Error('a message could not be read')
  }
  port.onmessage = ({ data }: MessageEvent<ModelRequest>) => handle(data)
})
