// Starts the worker of an embedder.
import { HalfbyteError } from '../../base/errors.ts'
import { type Connection, NO_WORKERS, workerConnection } from './connection.ts'
import { refusalOf, startScript } from './script.ts'

/**
 * From the script at `address` if it is given. Throws `unsupported` where there are no workers, and `worker`
 * if the browser refuses this one.
 */
export function startEmbedderWorker(address?: string): Connection {
  if (globalThis.Worker === undefined) throw new HalfbyteError('unsupported', NO_WORKERS)
  try {
    return workerConnection(start(address))
  } catch (cause) {
    throw new HalfbyteError('worker', refusalOf(cause), {}, { cause })
  }
}

const start = (script: string | undefined): Worker =>
  script === undefined
    ? new Worker(new URL('../../../workers/embedder.worker.ts', import.meta.url), { type: 'module' })
    : startScript(new URL(script))
