// Compute worker for Node. In: messages from the engine. Out: kernels run until the pool ends.
import { parentPort } from 'node:worker_threads'
import { workerThread } from '../runtime/worker-thread.ts'

parentPort?.on(
  'message',
  workerThread((reply) => parentPort?.postMessage(reply)),
)
