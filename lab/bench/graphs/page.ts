// The page in which networks are compared with onnxruntime-web. In: addresses of a file and of
// onnxruntime-web. Out: times of both.
import { Network } from '../../../src/network/api/network.ts'
import { type Comparison, compareEngines, type Measuring } from './comparison.ts'

export interface PageRequest extends Measuring {
  readonly model: string
  /** The folder of onnxruntime-web's scripts and modules. */
  readonly runtime: string
  readonly threads: number
  /** Whether Halfbyte runs in a worker, as it does by default; onnxruntime-web runs in the page. */
  readonly worker: boolean
}

async function compare({ model, runtime, threads, worker, ...how }: PageRequest): Promise<Comparison> {
  const script = `${runtime}ort.wasm.min.mjs`
  const ort = (await import(/* @vite-ignore */ script)) as typeof import('onnxruntime-web')
  Object.assign(ort.env.wasm, { numThreads: threads, wasmPaths: runtime })
  const network = await Network.load(model, { threads, worker, cache: 'none' })
  if (network.threads !== threads) throw new Error(`Halfbyte has ${network.threads} threads, not ${threads}`)
  const session = await ort.InferenceSession.create(model, {
    executionProviders: ['wasm'],
    logSeverityLevel: 4,
  })
  return compareEngines({ network, session, Tensor: ort.Tensor }, how, window.processorMs!)
}

declare global {
  interface Window {
    compareNetworks?: typeof compare
    /** The processor time of all pages so far, from outside. */
    processorMs?: () => Promise<number>
  }
}
window.compareNetworks = compare
