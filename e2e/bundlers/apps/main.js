// A page's own code. In: the address of a model, options. Out: the reply, and how it was computed.
import { Engine } from 'halfbyte'

globalThis.run = async (address, { prompt, reply, ...options }) => {
  const engine = await Engine.load(address, { ...options, cache: 'none' })
  try {
    const text = await engine.createSession().send(prompt, reply).text()
    return { text, threads: engine.threads, pool: engine.pool, build: engine.build }
  } finally {
    await engine.dispose()
  }
}
