// Compute worker. In: a port to an engine worker, from the page. Out: kernels run for what comes through it, until the pool ends.
import type { ComputeStart } from '../src/engine/compute-link.ts'
import { type ComputeRequest, computeThread } from '../src/runtime/compute-thread.ts'

self.addEventListener('message', ({ data: { port } }: MessageEvent<ComputeStart>) => {
  const handle = computeThread((reply) => port.postMessage(reply))
  port.onmessage = ({ data }: MessageEvent<ComputeRequest>) => handle(data)
})
