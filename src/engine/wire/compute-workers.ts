// Lets an engine worker request compute workers from its page, and terminates them.
import type { ComputeStart, ToEngine, ToPage } from '../browser-host.ts'
import { addressOf, refusalOf, startWorker } from './script.ts'

/** The page's side: starts the workers that `engine` requests. Returns a function that ends all of them. */
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
      const missing = () => failed(`its script ${addressOf(worker)} did not load`)
      worker.addEventListener('error', ({ message }) => (message ? failed(message) : missing()))
      // A compute worker replies on its port. Only the wrapper script that failed to import the worker's
      // script replies here.
      worker.addEventListener('message', missing)
      worker.addEventListener('messageerror', () => failed('a message to it could not be read'))
      worker.postMessage({ port } satisfies ComputeStart, [port])
    } catch (error) {
      failed(refusalOf(error))
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

const newWorker = (script: string | undefined): Worker =>
  startWorker(
    script,
    () => new Worker(new URL('../../../workers/compute.worker.ts', import.meta.url), { type: 'module' }),
  )
