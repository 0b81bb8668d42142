// Compute worker for Node. In: a module, a shared memory and a thread number, by message. Out: kernels run until the pool ends.
import { parentPort } from 'node:worker_threads'
import { computeThread } from '../runtime/compute-thread.ts'

parentPort?.on(
  'message',
  computeThread((reply) => parentPort?.postMessage(reply)),
)
