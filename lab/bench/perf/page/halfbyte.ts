// Runs Halfbyte in the suite's page, through the public API.
import { Engine, type LoadOptions } from '../../../../src/index.ts'
import { CONTEXT, type LoadOrder } from '../engines.ts'
import type { Loaded } from './main.ts'

/**
 * Prefill is everything except decoding: the messages to the worker and back, the tokenizer, the first token.
 */
export async function loadHalfbyte(
  order: LoadOrder,
  build: LoadOptions['build'],
  cache: LoadOptions['cache'] = 'none',
): Promise<Loaded> {
  const { threads, modelUrl } = order
  const engine = await Engine.load(modelUrl, { threads, build, contextLength: CONTEXT, cache })
  if (engine.threads !== threads)
    throw new Error(`${engine.threads} threads started, but ${threads} were requested`)
  return {
    async run(prompt, decode) {
      const started = performance.now()
      // Random models repeat themselves, so nearly all drafts would be accepted.
      const options = { maxTokens: decode, temperature: 0, speculation: 'off' } as const
      const { tokens, usage, timings } = await engine.complete(prompt, options).result
      const { decodeMs } = timings
      const prefillMs = performance.now() - started - decodeMs
      const promptTokens = usage.promptTokens - usage.cachedTokens
      return { promptTokens, prefillMs, decodedTokens: tokens.length, decodeMs, ids: tokens }
    },
    async turn(history, message) {
      const session = engine.createSession()
      const options = { maxTokens: 1, temperature: 0, speculation: 'off' } as const
      await session.send(history, options).result
      const started = performance.now()
      const { usage } = await session.send(message, options).result
      const ms = performance.now() - started
      await session.dispose()
      return { readTokens: usage.promptTokens - usage.cachedTokens, ms }
    },
  }
}
