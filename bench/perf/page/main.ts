// The suite's page: loads an engine once, runs it as the suite calls, and tells this browser's limits.
import type { LimitOptions, Limits } from '../../roofline/limits.ts'
import { measureLimitsHere } from '../../roofline/run.ts'
import type { EngineName, LoadOrder, Run, Turn } from '../engines.ts'
import { loadHalfbyte } from './halfbyte.ts'
import { loadOrt } from './ort.ts'
import { loadWllama2 } from './wllama-2.ts'
import { loadWllama3 } from './wllama-3.ts'

/** An engine with a model in it. */
export interface Loaded {
  run(prompt: string, decode: number): Promise<Run>
  /**
   * Reads `history`, says one token, and is told `message`. Engines whose caller keeps the state have none.
   */
  turn?(history: string, message: string): Promise<Turn>
}

const LOADERS: Readonly<Record<Exclude<EngineName, 'llama.cpp'>, (order: LoadOrder) => Promise<Loaded>>> = {
  halfbyte: (order) => loadHalfbyte(order, 'auto'),
  'halfbyte-simd128': (order) => loadHalfbyte(order, 'simd128'),
  'halfbyte-onnx-int4': (order) => loadHalfbyte(order, 'auto'),
  'halfbyte-onnx-int8': (order) => loadHalfbyte(order, 'auto'),
  'halfbyte-onnx-f32': (order) => loadHalfbyte(order, 'auto'),
  // Only files on the device are scanned.
  'halfbyte-onnx-f32-bf16': (order) => loadHalfbyte(order, 'auto', 'opfs'),
  'wllama-3': loadWllama3,
  'wllama-2': loadWllama2,
  'ort-int8': loadOrt,
  'ort-int4': loadOrt,
  'ort-f32': loadOrt,
  'ort-f32-bf16': loadOrt,
}

let loaded: Loaded | undefined

const perf = {
  /** Milliseconds that it took. */
  async load(order: LoadOrder): Promise<number> {
    if (order.engine === 'llama.cpp') throw new Error(`${order.engine} runs in no page`)
    if (!crossOriginIsolated) throw new Error('the page is not cross-origin isolated')
    const started = performance.now()
    loaded = await LOADERS[order.engine](order)
    return performance.now() - started
  },
  async run(prompt: string, decode: number): Promise<Run> {
    if (loaded === undefined) throw new Error('no engine is loaded')
    return loaded.run(prompt, decode)
  },
  /** Undefined where the engine keeps nothing. */
  turn: (history: string, message: string): Promise<Turn | undefined> =>
    Promise.resolve(loaded?.turn?.(history, message)),
  limits: (request: LimitOptions): Promise<Limits> => measureLimitsHere(request),
}

declare global {
  interface Window {
    perf: typeof perf
  }
}
window.perf = perf
