// The pools bench's page: runs its driver's cases in turn and measures tokens per second of each.
import { Engine } from '../../../src/index.ts'
import type { StreamRequest } from './stream.worker.ts'

export interface Case {
  readonly name: string
  readonly pool: 'single' | 'shared' | 'shards'
  readonly threads: number | 'auto'
  /** Makes one worker compute every tile three times: the second one, or the only one of `single`. */
  readonly slow?: boolean
}
export interface Job {
  readonly modelUrl: string
  readonly cases: readonly Case[]
  readonly rounds: number
  readonly prompt: number
  readonly tokens: number
}
export interface Sample {
  readonly prefill: number
  readonly decode: number
}
export interface Result {
  readonly name: string
  readonly pool: string
  readonly threads: number
  readonly loadMs: number
  readonly samples: Sample[]
}

const SLOW_COMPUTE = new URL('./slow-compute.worker.ts', import.meta.url)
const SLOW_ENGINE = new URL('./slow-engine.worker.ts', import.meta.url)

/** Deletes stored measurements. */
async function forget(): Promise<void> {
  const root = await navigator.storage.getDirectory()
  await root.getDirectoryHandle('halfbyte-notes', { create: true })
  // A note may be incomplete because it is being written.
  await root.removeEntry('halfbyte-notes', { recursive: true }).catch(forget)
}

async function runPools({ modelUrl, cases, rounds, prompt, tokens }: Job): Promise<Result[]> {
  const engines: { engine: Engine; result: Result }[] = []
  for (const { name, pool, threads, slow } of cases) {
    // The notes are from workers with other speeds.
    await forget()
    const start = performance.now()
    const slowed =
      slow === true ? (pool === 'single' ? { worker: SLOW_ENGINE } : { compute: SLOW_COMPUTE }) : {}
    const engine = await Engine.load(modelUrl, {
      pool,
      threads,
      cache: 'none',
      contextLength: 1024,
      assets: slowed,
    })
    const loadMs = performance.now() - start
    engines.push({
      engine,
      result: { name, pool: engine.pool, threads: engine.threads, loadMs, samples: [] },
    })
  }
  for (let round = 0; round <= rounds; round++) {
    for (const { engine, result } of engines) {
      // The first letter differs each time, so no part of the prompt is in the state cache.
      const text = `${String.fromCharCode(98 + round)}${'hello world '.repeat(Math.ceil(prompt / 12))}`.slice(
        0,
        prompt,
      )
      const { timings } = await engine.complete(text, {
        temperature: 0,
        maxTokens: tokens,
        speculation: 'off',
      }).result
      const { prefillTokensPerSecond: prefill, decodeTokensPerSecond: decode } = timings
      // The first round warms up.
      if (round > 0) result.samples.push({ prefill, decode })
    }
  }
  for (const { engine } of engines) await engine.dispose()
  return engines.map(({ result }) => result)
}

/**
 * Milliseconds of loads that measure and of loads that use a note, alternating. The model comes from storage.
 */
async function runLoads(modelUrl: string, rounds: number): Promise<Record<'measured' | 'known', number[]>> {
  const load = async (): Promise<number> => {
    const start = performance.now()
    const engine = await Engine.load(modelUrl, { contextLength: 1024 })
    const ms = performance.now() - start
    await engine.dispose()
    return ms
  }
  await load()
  const times = { measured: [] as number[], known: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    await forget()
    times.measured.push(await load())
    times.known.push(await load())
  }
  return times
}

/**
 * How many times as fast two workers read their halves of `bytes` as one reads all of them, each from its own
 * memory.
 */
async function runBound(module: string, bytes: number, rounds: number): Promise<number[]> {
  const workers = [0, 1].map(
    () => new Worker(new URL('./stream.worker.ts', import.meta.url), { type: 'module' }),
  )
  const ask = (worker: Worker | undefined, request: StreamRequest): Promise<number> =>
    new Promise((resolve, reject) => {
      if (worker === undefined) return
      worker.onmessage = ({ data }: MessageEvent<number>) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      worker.postMessage(request)
    })
  await Promise.all(workers.map((worker) => ask(worker, { module, room: bytes })))
  const ratios: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const alone = await ask(workers[0], { bytes })
    const both = await Promise.all(workers.map((worker) => ask(worker, { bytes: bytes / 2 })))
    // The first round runs code that is not optimised yet.
    if (round > 0) ratios.push(alone / Math.max(...both))
  }
  for (const worker of workers) worker.terminate()
  return ratios
}

declare global {
  interface Window {
    runPools: typeof runPools
    runLoads: typeof runLoads
    runBound: typeof runBound
  }
}
Object.assign(window, { runPools, runLoads, runBound })
