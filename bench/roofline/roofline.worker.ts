// Roofline worker. In: one job, by message. Out: its progress and its result; this thread is thread 0 of what
// is measured.
import { browserHost } from '../../src/engine/host.ts'
import { openAddress } from '../../src/store/open.ts'
import { limitsHost } from './host.ts'
import type { Job, Report } from './jobs.ts'
import { measureLimits } from './limits.ts'
import { measureSteps } from './steps.ts'

const post = (report: Report) => self.postMessage(report)
const onProgress = (done: number) => post({ type: 'progress', done })

async function run(job: Job): Promise<Report> {
  const host = browserHost()
  if (job.type === 'limits') {
    return { type: 'limits', limits: await measureLimits(limitsHost(host), job.options, onProgress) }
  }
  const sources = await openAddress(job.modelUrl, { cache: 'none' })
  return { type: 'steps', model: await measureSteps(host, sources, job.options, onProgress) }
}

self.addEventListener('message', ({ data }: MessageEvent<Job>) => {
  run(data).then(post, (error) =>
    post({ type: 'failed', message: error instanceof Error ? error.message : String(error) }),
  )
})
