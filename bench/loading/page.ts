// The loading bench's page. In: words from the bench's server. Out: a model loaded from the network or from
// storage, and how fast storage alone is.
//
// It asks the server what to do and tells it what came of it: DevTools, by which browsers are driven, keep
// what is downloaded.
import { Engine } from '../../src/index.ts'
import type { BareRead } from './bare.worker.ts'

export type Job =
  | { readonly type: 'load'; readonly url: string; readonly threads: number }
  | { readonly type: 'bare' }

export interface Loaded {
  /** From the call to the engine. */
  readonly totalMs: number
  /** From the first byte of the weights to the last of them in linear memory. */
  readonly weightsMs: number
}

export type Outcome = Loaded | BareRead | { readonly error: string }

async function load(url: string, threads: number): Promise<Loaded> {
  const start = performance.now()
  let opened = 0
  let placed = 0
  const engine = await Engine.load(url, {
    threads,
    onProgress: ({ phase }) => {
      if (phase === 'convert') opened ||= performance.now()
      if (phase === 'warmup') placed = performance.now()
    },
  })
  const totalMs = performance.now() - start
  await engine.dispose()
  return { totalMs, weightsMs: placed - opened }
}

function readBare(): Promise<BareRead> {
  const worker = new Worker(new URL('./bare.worker.ts', import.meta.url), { type: 'module' })
  return new Promise<BareRead>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<BareRead>) => resolve(data)
    worker.onerror = ({ message }) => reject(new Error(message))
  }).finally(() => worker.terminate())
}

for (;;) {
  const job = (await (await fetch('/job', { cache: 'no-store' })).json()) as Job
  const outcome: Outcome = await (job.type === 'bare' ? readBare() : load(job.url, job.threads)).catch(
    (error) => ({ error: String(error) }),
  )
  await fetch('/outcome', { method: 'POST', body: JSON.stringify(outcome) })
}
