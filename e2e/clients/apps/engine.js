// The engine of the apps. In: nothing. Out: the embedded model, loaded, and what it says by itself.
import { Engine } from 'halfbyte'

export const PROMPT = 'Tell me a story about a cat.'
export const engine = await Engine.load('/models/halfbyte-stories.hbm', {
  threads: 1,
  cache: 'none',
  assets: { worker: '/cdn/workers/engine.worker.js', wasm: '/cdn/wasm/' },
})

/** Makes `run` a function of the page that also tells what the engine says without the client. */
export function serve(run) {
  globalThis.run = async (...args) => {
    const session = engine.createSession()
    const own = await session.send(PROMPT, { temperature: 0, maxTokens: 24 }).text()
    await session.dispose()
    return { own, ...(await run(...args)) }
  }
}
