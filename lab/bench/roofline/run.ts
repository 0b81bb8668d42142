// Runs all measurements of a model, one job after the other.
import { detectFeatures } from '../../../src/core/runtime/features.ts'
import { attendComputeWorkers } from '../../../src/engine/wire/compute-workers.ts'
import type { Measured } from './analyse.ts'
import type { Effort, Job, ModelPlace, Report } from './jobs.ts'
import type { LimitOptions, Limits } from './limits.ts'
import type { TimedModel } from './steps.ts'

export interface RunHooks {
  /** Ends everything at once. The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called with the name of the current measurement, and the share that is done. */
  readonly onProgress?: ((what: string, done: number) => void) | undefined
}

/** The approximate shares of the time that the two kinds of jobs take. */
const WEIGHT = { limits: 1, steps: 2 } as const

/**
 * For a page. Skips builds and thread counts that the page does not support. Throws the error of a failed
 * job.
 */
export async function runRoofline(
  model: ModelPlace,
  effort: Effort,
  { signal, onProgress }: RunHooks = {},
): Promise<Measured> {
  const features = detectFeatures(globalThis)
  const builds = effort.builds.filter((build) => build === 'simd128' || features.relaxedSimd)
  const threads = features.sharedMemory ? effort.threads : [1]
  const { samples } = effort
  const jobs: Job[] = builds.flatMap((build): Job[] => [
    {
      type: 'limits',
      options: {
        build,
        threads,
        samples,
        sets: effort.sets,
        leastMs: effort.limitMs,
        ...(effort.waits !== undefined && { waits: effort.waits }),
      },
    },
    {
      type: 'steps',
      model,
      options: {
        build,
        threads,
        samples,
        position: effort.position,
        chunk: effort.chunk,
        leastMs: effort.stepMs,
        ...(effort.weights !== undefined && { weights: effort.weights }),
        ...(effort.kvCache !== undefined && { kvCache: effort.kvCache }),
      },
    },
  ])
  const total = jobs.reduce((sum, { type }) => sum + WEIGHT[type], 0)
  const limits: Limits[] = []
  const models: TimedModel[] = []
  let before = 0
  for (const job of jobs) {
    const what = `${job.type === 'limits' ? 'the machine' : 'the model'}, ${job.options.build}`
    const report = await runJob(job, signal, (done) =>
      onProgress?.(what, (before + WEIGHT[job.type] * done) / total),
    )
    if (report.type === 'limits') limits.push(report.limits)
    else models.push(report.model)
    before += WEIGHT[job.type]
  }
  return { limits, models }
}

/** The machine's limits alone, for a page. */
export async function measureLimitsHere(options: LimitOptions, signal?: AbortSignal): Promise<Limits> {
  const report = await runJob({ type: 'limits', options }, signal, () => {})
  if (report.type !== 'limits') throw new Error(`the worker measured ${report.type}`)
  return report.limits
}

type Result = Extract<Report, { readonly type: 'limits' | 'steps' }>

function runJob(
  job: Job,
  signal: AbortSignal | undefined,
  onProgress: (done: number) => void,
): Promise<Result> {
  signal?.throwIfAborted()
  const worker = new Worker(new URL('./roofline.worker.ts', import.meta.url), { type: 'module' })
  const endComputeWorkers = attendComputeWorkers(worker)
  const settled = new AbortController()
  return new Promise<Result>((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { signal: settled.signal })
    worker.addEventListener('error', ({ message }) =>
      reject(new Error(message || 'the worker could not be loaded')),
    )
    worker.addEventListener('message', ({ data }: MessageEvent<Report>) => {
      if (data.type === 'progress') onProgress(data.done)
      else if (data.type === 'failed') reject(new Error(data.message))
      else if (data.type === 'limits' || data.type === 'steps') resolve(data)
    })
    worker.postMessage(job)
  }).finally(() => {
    settled.abort()
    worker.terminate()
    endComputeWorkers()
  })
}
