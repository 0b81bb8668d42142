// Starts the worker of a network.
import { type Connection, startedConnection } from './connection.ts'
import { startWorker } from './script.ts'

/** Starts the worker from the script at `address` if given. Throws the same errors as `startedConnection`. */
export const startNetworkWorker = (address?: string): Connection =>
  startedConnection(() =>
    startWorker(
      address,
      () => new Worker(new URL('../../../workers/network.worker.ts', import.meta.url), { type: 'module' }),
    ),
  )
