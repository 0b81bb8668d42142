// A worker as Cloudflare runs them. Out: what the library can do there.
import { Engine, isHalfbyteError } from 'halfbyte'
import { exactAnswer } from 'halfbyte/assist'
import { Embedder } from 'halfbyte/embedder'

const failureOf = (promise) =>
  promise.then(
    () => 'loaded',
    (error) => ({ isOwn: isHalfbyteError(error), code: error.code, message: error.message }),
  )

export default {
  async fetch() {
    const { supported, reason } = await Engine.support()
    const failures = [
      await failureOf(Engine.load('https://models.example/tiny.gguf')),
      await failureOf(Embedder.load('https://models.example/')),
    ]
    const exact = exactAnswer('What is 15 % of 240?')?.text
    return Response.json({ supported, reason, failures, exact })
  },
}
