// Compute worker. In: a module, a shared memory and a thread number, by message. Out: kernels run until the pool ends.
import { type ComputeRequest, computeThread } from '../src/runtime/compute-thread.ts'

const handle = computeThread((reply) => self.postMessage(reply))
self.addEventListener('message', (event: MessageEvent<ComputeRequest>) => handle(event.data))
