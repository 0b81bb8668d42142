// Runs wllama 3 in the suite's page through createCompletion, with the timings of its internal server.
import { CONTEXT, type LoadOrder } from '../engines.ts'
import { idsOf } from '../prompts.ts'
import type { Loaded } from './main.ts'

/** The part of the package's `esm/index.js` used here. */
interface Wllama3 {
  readonly LoggerWithoutDebug: unknown
  readonly Wllama: new (
    paths: { default: string },
    config: object,
  ) => {
    loadModel(files: readonly Blob[], params: object): Promise<void>
    createCompletion(params: object): Promise<{
      choices: readonly { text: string }[]
      timings?: { prompt_n: number; prompt_ms: number; predicted_n: number; predicted_ms: number }
    }>
  }
}

export async function loadWllama3({ threads, modelUrl, packageUrl }: LoadOrder): Promise<Loaded> {
  const { LoggerWithoutDebug, Wllama }: Wllama3 = await import(
    /* @vite-ignore */ `${packageUrl}/esm/index.js`
  )
  const config = { suppressNativeLog: true, logger: LoggerWithoutDebug }
  const wllama = new Wllama({ default: `${packageUrl}/esm/wasm/wllama.wasm` }, config)
  const file = await (await fetch(modelUrl)).blob()
  await wllama.loadModel([file], { n_threads: threads, n_ctx: CONTEXT, n_gpu_layers: 0, warmup: false })
  const complete = async (prompt: string, decode: number, keeps: boolean) => {
    const { choices, timings } = await wllama.createCompletion({
      prompt,
      max_tokens: decode,
      temperature: 0,
      ignore_eos: true,
      cache_prompt: keeps,
    })
    if (timings === undefined) throw new Error('wllama reported no timings')
    return { choices, timings }
  }
  return {
    async run(prompt, decode) {
      const { choices, timings } = await complete(prompt, decode, false)
      return {
        promptTokens: timings.prompt_n,
        prefillMs: timings.prompt_ms,
        decodedTokens: timings.predicted_n,
        decodeMs: timings.predicted_ms,
        ids: idsOf(choices[0]?.text ?? ''),
      }
    },
    // The token that it reports is not yet in its state, so the second prompt continues exactly where the
    // first one ended.
    async turn(history, message) {
      await complete(history, 1, true)
      const { timings } = await complete(history + message, 1, true)
      return { readTokens: timings.prompt_n, ms: timings.prompt_ms }
    },
  }
}
