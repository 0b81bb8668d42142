// Starts the worker of an embedder.
import { type Connection, startedConnection } from './connection.ts'
import { startWorker } from './script.ts'

/** Starts the worker from the script at `address` if given. Throws the same errors as `startedConnection`. */
export const startEmbedderWorker = (address?: string): Connection =>
  startedConnection(() =>
    startWorker(
      address,
      () => new Worker(new URL('../../../workers/embedder.worker.ts', import.meta.url), { type: 'module' }),
    ),
  )
