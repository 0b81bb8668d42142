// Runs wllama 2 in the suite's page, using the calls that its createCompletion makes.
import { CONTEXT, type LoadOrder } from '../engines.ts'
import { promptIds } from '../prompts.ts'
import type { Loaded } from './main.ts'

/** The part of the package's `esm/index.js` used here. */
interface Wllama2 {
  readonly LoggerWithoutDebug: unknown
  readonly Wllama: new (
    paths: Readonly<Record<string, string>>,
    config: object,
  ) => {
    loadModel(files: readonly Blob[], params: object): Promise<void>
    getNumThreads(): number
    samplingInit(config: object): Promise<void>
    kvClear(): Promise<void>
    decode(tokens: readonly number[], options: object): Promise<unknown>
    samplingSample(): Promise<{ token: number }>
    samplingAccept(tokens: readonly number[]): Promise<void>
  }
}

export async function loadWllama2({ threads, modelUrl, packageUrl }: LoadOrder): Promise<Loaded> {
  const { LoggerWithoutDebug, Wllama }: Wllama2 = await import(
    /* @vite-ignore */ `${packageUrl}/esm/index.js`
  )
  const names = ['single-thread/wllama.wasm', 'multi-thread/wllama.wasm']
  const paths = Object.fromEntries(names.map((name) => [name, `${packageUrl}/esm/${name}`]))
  const wllama = new Wllama(paths, { suppressNativeLog: true, logger: LoggerWithoutDebug })
  const file = await (await fetch(modelUrl)).blob()
  await wllama.loadModel([file], { n_threads: threads, n_ctx: CONTEXT, n_batch: 512 })
  if (wllama.getNumThreads() !== threads) {
    throw new Error(`${wllama.getNumThreads()} threads started, but ${threads} were requested`)
  }
  /** Clears the state and reads a prompt; returns the first token. */
  const begin = async (prompt: string) => {
    await wllama.samplingInit({ temp: 0 })
    await wllama.kvClear()
    await wllama.decode(promptIds(prompt), {})
    return (await wllama.samplingSample()).token
  }
  return {
    async run(prompt, decode) {
      const started = performance.now()
      const ids = [await begin(prompt)]
      const first = performance.now()
      for (let step = 1; step < decode; step++) {
        await wllama.samplingAccept(ids.slice(-1))
        await wllama.decode(ids.slice(-1), {})
        ids.push((await wllama.samplingSample()).token)
      }
      const decodeMs = performance.now() - first
      return {
        promptTokens: prompt.length,
        prefillMs: first - started,
        decodedTokens: ids.length,
        decodeMs,
        ids,
      }
    },
    // Does what createCompletion does with `useCache` if the prompt begins with everything processed before.
    async turn(history, message) {
      await begin(history)
      const started = performance.now()
      await wllama.decode(promptIds(message), {})
      await wllama.samplingSample()
      return { readTokens: message.length, ms: performance.now() - started }
    },
  }
}
