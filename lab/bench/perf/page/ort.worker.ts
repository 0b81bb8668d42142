// ONNX Runtime Web's worker: answers prompts with greedy tokens and timings, using a decoder of
// lab/bench/perf/onnx.
import type { LoadOrder, Run } from '../engines.ts'
import { type Ort, type OrtSession, OrtText } from '../onnx/feeds.ts'
import { promptIds } from '../prompts.ts'

export type OrtRequest =
  | { readonly type: 'load'; readonly order: LoadOrder }
  | { readonly type: 'run'; readonly prompt: string; readonly decode: number }
export interface OrtAnswer {
  readonly run?: Run | undefined
  readonly failure?: string | undefined
}

let ort: Ort
let session: OrtSession
let state: LoadOrder['state']

async function load({ threads, modelUrl, dataUrls, packageUrl, state: sizes }: LoadOrder): Promise<void> {
  if (dataUrls === undefined) throw new Error('the weights have no address')
  ort = await import(/* @vite-ignore */ `${packageUrl}/dist/ort.wasm.min.mjs`)
  ort.env.wasm.numThreads = threads
  ort.env.wasm.wasmPaths = `${packageUrl}/dist/`
  const externalData = await Promise.all(
    dataUrls.map(async (url) => ({
      path: new URL(url).pathname.split('/').at(-1),
      data: await bytes(url),
    })),
  )
  session = await ort.InferenceSession.create(await bytes(modelUrl), {
    executionProviders: ['wasm'],
    externalData,
    logSeverityLevel: 3,
  })
  state = sizes
}

async function bytes(url: string): Promise<Uint8Array> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  return new Uint8Array(await response.arrayBuffer())
}

async function run(prompt: string, decode: number): Promise<Run> {
  let ids = promptIds(prompt)
  const out: number[] = []
  const started = performance.now()
  let first = started
  const text = new OrtText(ort, session, state)
  while (out.length < decode) {
    const best = indexOfMost(await text.read(ids))
    out.push(best)
    ids = [best]
    if (out.length === 1) first = performance.now()
  }
  const decodeMs = performance.now() - first
  const prefillMs = first - started
  return { promptTokens: prompt.length, prefillMs, decodedTokens: out.length, decodeMs, ids: out }
}

function indexOfMost(values: Float32Array): number {
  let best = 0
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i
  return best
}

self.addEventListener('message', async ({ data }: MessageEvent<OrtRequest>) => {
  const answer = (message: OrtAnswer) => self.postMessage(message)
  try {
    if (data.type === 'run') answer({ run: await run(data.prompt, data.decode) })
    else {
      await load(data.order)
      answer({})
    }
  } catch (error) {
    answer({ failure: error instanceof Error ? error.message : String(error) })
  }
})
