// The scheduler bench's worker: does one job. This thread is thread 0 in the measurements.
import { givenPlace } from '../../../src/core/formats/names/named-files.ts'
import { browserHost } from '../../../src/engine/browser-host.ts'
import { loadModel } from '../../../src/engine/load/load-model.ts'
import { type Job, measure, type Report } from './measure.ts'

async function run(job: Job): Promise<Report> {
  const request = {
    source: givenPlace(job.modelUrl),
    threads: job.threads,
    build: 'auto',
    contextLength: 1024,
    weights: 'auto',
    cache: 'none',
    assets: {},
  } as const
  const hooks = { signal: new AbortController().signal, onProgress: () => undefined }
  const model = await loadModel(request, hooks, browserHost())
  try {
    return { type: 'done', measured: await measure(model, job) }
  } finally {
    await model.dispose()
  }
}

const post = (report: Report) => self.postMessage(report)
self.addEventListener('message', ({ data }: MessageEvent<Job>) => {
  // Comlink's messages and those of the compute workers arrive here too.
  if (data.type !== 'measure') return
  run(data).then(post, (error) => post({ type: 'failed', message: String(error) }))
})
