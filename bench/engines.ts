// The engines of a bench, in the page. In: the model's address and a case. Out: rates and bytes, measured by each engine's own clock.
import { LoggerWithoutDebug, Wllama } from '@wllama/wllama'
import wllamaWasm from '@wllama/wllama/esm/wasm/wllama.wasm?url'
import { Engine } from '../src/index.ts'

/** One measurement: a prompt of so many tokens, then so many decoded ones. */
export interface Case {
  readonly prompt: number
  readonly decode: number
}
export interface Figures {
  readonly prefillTokensPerSecond: number
  readonly decodeTokensPerSecond: number
  readonly promptTokens: number
  readonly decodedTokens: number
}
/** An engine with a model in it. */
export interface Loaded {
  readonly loadMs: number
  run(one: Case): Promise<Figures>
  /** Bytes of linear memory that the engine holds, where it can tell. */
  memoryBytes(): Promise<number | undefined>
  dispose(): Promise<void>
}

/** The vocabulary has no merges for this letter, so every letter is one token; a new first letter defeats prompt caches. */
let round = 0
function promptOf(tokens: number): string {
  const first = String.fromCharCode(65 + (round++ % 26))
  return first + 'x'.repeat(tokens - 1)
}

export async function loadHalfbyte(url: string, threads: number): Promise<Loaded> {
  const started = performance.now()
  const engine = await Engine.load(url, { threads, contextLength: 2304, cache: 'none' })
  return {
    loadMs: performance.now() - started,
    async run({ prompt, decode }) {
      const generation = engine.complete(promptOf(prompt), { maxTokens: decode, temperature: 0 })
      const { usage, timings } = await generation.result
      return {
        prefillTokensPerSecond: timings.prefillTokensPerSecond,
        decodeTokensPerSecond: timings.decodeTokensPerSecond,
        promptTokens: usage.promptTokens,
        decodedTokens: usage.completionTokens,
      }
    },
    async memoryBytes() {
      return (await engine.memory()).totalBytes
    },
    dispose: () => engine.dispose(),
  }
}

export async function loadWllama(url: string, threads: number): Promise<Loaded> {
  const started = performance.now()
  const wllama = new Wllama({ default: wllamaWasm }, { suppressNativeLog: true, logger: LoggerWithoutDebug })
  const blob = await (await fetch(url)).blob()
  await wllama.loadModel([blob], { n_threads: threads, n_ctx: 2304, n_gpu_layers: 0, warmup: false })
  return {
    loadMs: performance.now() - started,
    async run({ prompt, decode }) {
      const answer = await wllama.createCompletion({
        prompt: promptOf(prompt),
        max_tokens: decode,
        temp: 0,
        ignore_eos: true,
      })
      const timings = answer.timings
      if (timings === undefined) throw new Error('wllama reported no timings')
      return {
        prefillTokensPerSecond: timings.prompt_per_second,
        decodeTokensPerSecond: timings.predicted_per_second,
        promptTokens: timings.prompt_n,
        decodedTokens: timings.predicted_n,
      }
    },
    async memoryBytes() {
      return undefined
    },
    dispose: () => wllama.exit(),
  }
}

export const ENGINES = { halfbyte: loadHalfbyte, wllama: loadWllama } as const
export type EngineName = keyof typeof ENGINES
