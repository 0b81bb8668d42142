// ONNX Runtime Web's worker. In: a decoder of bench/perf/onnx, then prompts. Out: greedy tokens and times.
// Keys and values go out of each run and into the next, as the runtime has it.
import type { LoadOrder, Run } from '../engines.ts'
import { promptIds } from '../prompts.ts'

export type OrtRequest =
  | { readonly type: 'load'; readonly order: LoadOrder }
  | { readonly type: 'run'; readonly prompt: string; readonly decode: number }
export interface OrtAnswer {
  readonly run?: Run | undefined
  readonly failure?: string | undefined
}

type TensorData = Float32Array | Int32Array | BigInt64Array
interface Tensor {
  readonly data: TensorData
}
interface Session {
  run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>>
}
/** What is used of the package's `dist/ort.wasm.min.mjs`. */
interface Ort {
  readonly env: { readonly wasm: { numThreads: number; wasmPaths: string } }
  readonly Tensor: new (type: string, data: TensorData, shape: readonly number[]) => Tensor
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<Session> }
}

let ort: Ort
let session: Session
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
  let past = noPast()
  for (let total = ids.length; out.length < decode; total++) {
    const { logits, ...present } = await session.run({
      ids: new ort.Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
      last: new ort.Tensor('int32', Int32Array.of(total - 1), [1]),
      total: new ort.Tensor('int32', Int32Array.of(total), []),
      ...past,
    })
    past = Object.fromEntries(Object.entries(present).map(([name, tensor]) => [`past_${name}`, tensor]))
    const best = indexOfMost(logits?.data as Float32Array)
    out.push(best)
    ids = [best]
    if (out.length === 1) first = performance.now()
  }
  const decodeMs = performance.now() - first
  const prefillMs = first - started
  return { promptTokens: prompt.length, prefillMs, decodedTokens: out.length, decodeMs, ids: out }
}

function noPast(): Record<string, Tensor> {
  const shape = [1, state.kvHeads, 0, state.headDim]
  const names = Array.from({ length: state.layers }, (_, layer) => [
    `past_k.${layer}`,
    `past_v.${layer}`,
  ]).flat()
  return Object.fromEntries(
    names.map((name) => [name, new ort.Tensor('float32', new Float32Array(0), shape)]),
  )
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
