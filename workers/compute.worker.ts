// Compute worker. In: a port to an engine worker, from the page. Out: kernels run for what comes through it, until the pool ends.
import type { ComputeStart } from '../src/engine/compute-link.ts'
import type { WorkerRequest } from '../src/runtime/host.ts'
import { workerThread } from '../src/runtime/worker-thread.ts'

self.addEventListener('message', ({ data: { port } }: MessageEvent<ComputeStart>) => {
  const handle = workerThread((reply) => port.postMessage(reply))
  port.onmessage = ({ data }: MessageEvent<WorkerRequest>) => handle(data)
})
