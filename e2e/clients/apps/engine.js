// The engine shared by the apps. Out: the loaded embedded model and its own reply, and encoders.
import { Engine } from 'halfbyte'
import { Embedder } from 'halfbyte/embedder'

export const PROMPT = 'Tell me a story about a cat.'
export const engine = await Engine.load('/models/halfbyte-stories.hbm', {
  threads: 1,
  cache: 'none',
  assets: { worker: '/cdn/workers/engine.worker.js', wasm: '/cdn/wasm/' },
})

export const TEXTS = ['the cat', 'The running cats, 12 of the runners.']

/** The encoder or reranker in a folder on the site. */
export const loadEncoder = (folder) =>
  Embedder.load(folder, {
    threads: 1,
    cache: 'none',
    assets: { worker: '/cdn/workers/embedder.worker.js', wasm: '/cdn/wasm/' },
  })

/** Whether vectors equal `right`. Numbers in JSON may differ in their last digit. */
export const areSame = (vectors, right) =>
  vectors.length === right.length &&
  vectors.every((vector, row) =>
    [...right[row]].every(
      (value, at) => Math.abs(vector[at] - value) < 1e-6 && vector.length === right[row].length,
    ),
  )

/** Exposes `run` on the page, along with the engine's reply without the client. */
export function serve(run) {
  globalThis.run = async (...args) => {
    const session = engine.createSession()
    const own = await session.send(PROMPT, { temperature: 0, maxTokens: 24 }).text()
    await session.dispose()
    return { own, ...(await run(...args)) }
  }
}
