// The sparse packs' page: forwards its driver's calls to its worker.
import { attendComputeWorkers } from '../../../src/engine/wire/compute-workers.ts'
import type { Answer, Job, Results } from './jobs.ts'

declare global {
  interface Window {
    runSparse: <Type extends Job['type']>(job: Extract<Job, { type: Type }>) => Promise<Results[Type]>
  }
}

const worker = new Worker(new URL('./sparse.worker.ts', import.meta.url), { type: 'module' })
attendComputeWorkers(worker)

window.runSparse = <Type extends Job['type']>(job: Extract<Job, { type: Type }>) =>
  new Promise<Results[Type]>((resolve, reject) => {
    const settled = new AbortController()
    const { signal } = settled
    worker.addEventListener(
      'error',
      ({ message }) => reject(new Error(message || 'the worker did not load')),
      { signal },
    )
    worker.addEventListener(
      'message',
      ({ data }: MessageEvent<Answer>) => {
        if (data.type !== 'done' && data.type !== 'failed') return
        settled.abort()
        if (data.type === 'failed') reject(new Error(data.message))
        else resolve(data.result as Results[Type])
      },
      { signal },
    )
    worker.postMessage(job)
  })
