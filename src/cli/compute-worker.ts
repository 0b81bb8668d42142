// The compute worker in Node: runs kernels for the engine until the pool ends.
import { parentPort } from 'node:worker_threads'
import { workerThread } from '../runtime/worker-thread.ts'

parentPort?.on(
  'message',
  workerThread((reply) => parentPort?.postMessage(reply)),
)
