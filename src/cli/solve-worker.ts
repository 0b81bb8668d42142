// Solver worker for Node. In: messages of the crew. Out: products and solved slabs.
import { parentPort } from 'node:worker_threads'
import { solveThread } from '../shrink/calibrate/solver/solve-thread.ts'

parentPort?.on(
  'message',
  solveThread((reply) => parentPort?.postMessage(reply)),
)
