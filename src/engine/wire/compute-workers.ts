// Compute workers. In: an engine worker and its requests. Out: the compute workers that its page starts for
// it.
import { reasonOf } from '../../base/errors.ts'
import type { ComputeStart, ToEngine, ToPage } from './compute-link.ts'
import { startScript } from './script.ts'

/** The page's part: starts the workers that `engine` asks for. Returns a function that ends all of them. */
export function attendComputeWorkers(engine: Worker): () => void {
  const workers = new Map<number, Worker>()
  const end = (number: number) => {
    workers.get(number)?.terminate()
    workers.delete(number)
  }
  const start = ({ number, script, port }: Extract<ToPage, { type: 'compute-start' }>) => {
    const failed = (why: string) =>
      engine.postMessage({ type: 'compute-failed', number, why } satisfies ToEngine)
    try {
      const worker = newWorker(script)
      workers.set(number, worker)
      worker.addEventListener('error', ({ message }) => failed(message || 'its script could not be loaded'))
      worker.addEventListener('messageerror', () => failed('a message to it could not be read'))
      worker.postMessage({ port } satisfies ComputeStart, [port])
    } catch (error) {
      failed(reasonOf(error))
    }
  }
  const listen = ({ data }: MessageEvent<ToPage | undefined>) => {
    if (data?.type === 'compute-start') start(data)
    else if (data?.type === 'compute-end') end(data.number)
  }
  engine.addEventListener('message', listen)
  return () => {
    engine.removeEventListener('message', listen)
    for (const number of [...workers.keys()]) end(number)
  }
}

function newWorker(script: string | undefined): Worker {
  return script === undefined
    ? new Worker(new URL('../../../workers/compute.worker.ts', import.meta.url), { type: 'module' })
    : startScript(new URL(script))
}
