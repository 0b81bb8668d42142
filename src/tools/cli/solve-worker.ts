// The solver's worker in Node: computes products and solves slabs for the crew.
import { parentPort } from 'node:worker_threads'
import { solveThread } from '../shrink/calibrate/solver/solve-thread.ts'

parentPort?.on(
  'message',
  solveThread((reply) => parentPort?.postMessage(reply)),
)
