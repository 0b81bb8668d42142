// The roofline's worker: does one job and reports its progress and result. This thread is thread 0 in the
// measurements.
import { type ByteSource, blobSource } from '../../../src/core/base/bytes.ts'
import { givenPlace } from '../../../src/core/formats/names/named-files.ts'
import { openAddress } from '../../../src/core/store/open-address.ts'
import { storedBytes } from '../../../src/engine/api/stored.ts'
import { browserHost } from '../../../src/engine/browser-host.ts'
import { limitsHost } from './host.ts'
import type { Job, ModelPlace, Report } from './jobs.ts'
import { measureLimits } from './limits.ts'
import { measureSteps } from './steps.ts'

const post = (report: Report) => self.postMessage(report)
const onProgress = (done: number) => post({ type: 'progress', done })

/** Reads a stored model from storage, but does not store models. */
async function open(model: ModelPlace): Promise<ByteSource[]> {
  if (typeof model !== 'string') return model.map((file) => blobSource(file.name, file))
  const isStored = (await storedBytes(model)) > 0
  return openAddress(givenPlace(model), { cache: isStored ? 'opfs' : 'none' })
}

async function run(job: Job): Promise<Report> {
  const host = browserHost()
  if (job.type === 'limits') {
    return { type: 'limits', limits: await measureLimits(limitsHost(host), job.options, onProgress) }
  }
  const sources = await open(job.model)
  try {
    return { type: 'steps', model: await measureSteps(host, sources, job.options, onProgress) }
  } finally {
    for (const source of sources) source.close?.()
  }
}

self.addEventListener('message', ({ data }: MessageEvent<Job>) => {
  run(data).then(post, (error) =>
    post({ type: 'failed', message: error instanceof Error ? error.message : String(error) }),
  )
})
