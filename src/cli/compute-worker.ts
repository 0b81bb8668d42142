// Compute worker for Node. In: what the engine asks, by message. Out: kernels run until the pool ends.
import { parentPort } from 'node:worker_threads'
import { workerThread } from '../runtime/worker-thread.ts'

parentPort?.on(
  'message',
  workerThread((reply) => parentPort?.postMessage(reply)),
)
