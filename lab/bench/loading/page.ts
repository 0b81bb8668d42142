// The loading bench's page: loads a model from an address, from storage or from files as the bench's server
// says, and measures its first word and how fast storage alone is.
// It asks the server for jobs and reports the results, because DevTools, which usually drives browsers, keeps
// all downloads in memory.
import { Engine, isHalfbyteError } from '../../../src/index.ts'
import type { BareRead } from './bare.worker.ts'

export type Job =
  | {
      readonly type: 'load'
      /** `files`: the files that `keep` has downloaded. */
      readonly from: 'address' | 'files'
      readonly url: string
      readonly cache: 'opfs' | 'none'
      readonly threads: number
    }
  /** Resolves after the browser has collected garbage, which may take 20 s. */
  | { readonly type: 'rest' }
  /** Unloads the engine that `load` has loaded. */
  | { readonly type: 'unload' }
  | { readonly type: 'keep'; readonly urls: readonly string[] }
  | { readonly type: 'bare' }

export interface Loaded {
  /** From the call until the engine is ready. */
  readonly totalMs: number
  /** From the first byte of the weights until the last is in linear memory. */
  readonly weightsMs: number
  /** From the call to the first word of a reply. */
  readonly firstWordMs: number
}

export interface Kept {
  readonly kept: number
}

export interface Rested {
  /** Bytes used by the page and its workers, as counted by the browser. */
  readonly counted: number
}

export type Outcome = Loaded | Rested | Kept | BareRead | { readonly error: string }

const KEPT = 'bench-files'
const QUESTION = 'What is the capital of France?'

const keptFolder = async () =>
  (await navigator.storage.getDirectory()).getDirectoryHandle(KEPT, { create: true })

/** Writes files to the disk, from which they are read like files that a user picks. */
async function keep(urls: readonly string[]): Promise<Kept> {
  const folder = await keptFolder()
  for (const url of urls) {
    const file = await folder.getFileHandle(url.slice(url.lastIndexOf('/') + 1), { create: true })
    const { body } = await fetch(url, { cache: 'no-store' })
    await body?.pipeTo(await file.createWritable())
  }
  return { kept: urls.length }
}

async function keptFiles(): Promise<File[]> {
  const files: File[] = []
  for await (const handle of (await keptFolder()).values())
    files.push(await (handle as FileSystemFileHandle).getFile())
  return files
}

let loaded: Engine | undefined

async function load({ from, url, cache, threads }: Job & { type: 'load' }): Promise<Loaded> {
  const source = from === 'files' ? await keptFiles() : url
  const start = performance.now()
  let opened = 0
  let placed = 0
  const engine = await Engine.load(source, {
    threads,
    cache,
    onProgress: ({ phase }) => {
      if (phase === 'convert') opened ||= performance.now()
      if (phase === 'warmup') placed = performance.now()
    },
  })
  const totalMs = performance.now() - start
  await firstWord(engine)
  const firstWordMs = performance.now() - start
  loaded = engine
  return { totalMs, weightsMs: placed - opened, firstWordMs }
}

async function rest(): Promise<Rested> {
  // TypeScript's DOM library lacks this function.
  const measured = performance as Performance & {
    measureUserAgentSpecificMemory(): Promise<{ readonly bytes: number }>
  }
  return { counted: (await measured.measureUserAgentSpecificMemory()).bytes }
}

async function unload(): Promise<Kept> {
  await loaded?.dispose()
  loaded = undefined
  return { kept: 0 }
}

/** Models without a chat template continue the text. */
async function firstWord(engine: Engine): Promise<void> {
  const options = { maxTokens: 1, temperature: 0 }
  try {
    await engine.createSession().send(QUESTION, options).text()
  } catch (error) {
    if (!isHalfbyteError(error)) throw error
    await engine.complete(QUESTION, options).text()
  }
}

function readBare(): Promise<BareRead> {
  const worker = new Worker(new URL('./bare.worker.ts', import.meta.url), { type: 'module' })
  return new Promise<BareRead>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<BareRead>) => resolve(data)
    worker.onerror = ({ message }) => reject(new Error(message))
  }).finally(() => worker.terminate())
}

function outcomeOf(job: Job): Promise<Outcome> {
  switch (job.type) {
    case 'load':
      return load(job)
    case 'rest':
      return rest()
    case 'unload':
      return unload()
    case 'keep':
      return keep(job.urls)
    case 'bare':
      return readBare()
  }
}

for (;;) {
  const job = (await (await fetch('/job', { cache: 'no-store' })).json()) as Job
  const outcome = await outcomeOf(job).catch((error): Outcome => ({ error: String(error) }))
  await fetch('/outcome', { method: 'POST', body: JSON.stringify(outcome) })
}
