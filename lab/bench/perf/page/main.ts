// The suite's page: loads an engine once, runs it when the suite calls, and measures this browser's limits.
import type { LimitOptions, Limits } from '../../roofline/limits.ts'
import { measureLimitsHere } from '../../roofline/run.ts'
import type { LoadOrder, Run, Turn } from '../engines.ts'
import { loadHalfbyte } from './halfbyte.ts'
import { loadOrt } from './ort.ts'
import { loadWllama2 } from './wllama-2.ts'
import { loadWllama3 } from './wllama-3.ts'

/** An engine with a model in it. */
export interface Loaded {
  run(prompt: string, decode: number): Promise<Run>
  /**
   * Processes `history`, generates one token, and then gets `message`. Absent for engines whose caller holds
   * the state.
   */
  turn?(history: string, message: string): Promise<Turn>
}

/** Throws for an engine that does not run in a page. */
function load(order: LoadOrder): Promise<Loaded> {
  const { engine } = order
  if (engine === 'wllama-3') return loadWllama3(order)
  if (engine === 'wllama-2') return loadWllama2(order)
  if (engine.startsWith('ort-')) return loadOrt(order)
  if (!engine.startsWith('halfbyte')) throw new Error(`${engine} cannot run in a page`)
  // Only files on the device are scanned for bf16 values.
  const cache = engine === 'halfbyte-onnx-f32-bf16' ? 'opfs' : 'none'
  return loadHalfbyte(order, engine === 'halfbyte-simd128' ? 'simd128' : 'auto', cache)
}

let loaded: Loaded | undefined

const perf = {
  /** Milliseconds that it took. */
  async load(order: LoadOrder): Promise<number> {
    if (!crossOriginIsolated) throw new Error('the page is not cross-origin isolated')
    const started = performance.now()
    loaded = await load(order)
    return performance.now() - started
  },
  async run(prompt: string, decode: number): Promise<Run> {
    if (loaded === undefined) throw new Error('no engine is loaded')
    return loaded.run(prompt, decode)
  },
  /** Undefined if the engine keeps no state. */
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
