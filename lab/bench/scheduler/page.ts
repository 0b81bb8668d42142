// The scheduler bench's page: forwards the results of its worker.
import { attendComputeWorkers } from '../../../src/engine/wire/compute-workers.ts'
import type { Job, Measured, Report } from './measure.ts'

function runScheduler(job: Job): Promise<Measured> {
  const worker = new Worker(new URL('./scheduler.worker.ts', import.meta.url), { type: 'module' })
  const endComputeWorkers = attendComputeWorkers(worker)
  return new Promise<Measured>((resolve, reject) => {
    worker.addEventListener('error', ({ message }) => reject(new Error(message || 'no worker')))
    worker.addEventListener('message', ({ data }: MessageEvent<Report>) => {
      if (data.type === 'done') resolve(data.measured)
      else if (data.type === 'failed') reject(new Error(data.message))
    })
    worker.postMessage(job)
  }).finally(() => {
    worker.terminate()
    endComputeWorkers()
  })
}

declare global {
  interface Window {
    runScheduler: typeof runScheduler
  }
}
window.runScheduler = runScheduler
