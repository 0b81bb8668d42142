// Serves the models of the store by name: loads the one that a request names, one at a time.

import { type OpenAIFetch, type OpenAIFetchOptions, openaiFetch } from '../../../adapters/openai.ts'
import { readBody } from '../../../adapters/openai-server/body.ts'
import { errorAnswer, errorOf, failure, UnknownModel } from '../../../adapters/openai-server/error-answer.ts'
import { shown } from '../../../core/base/check-options.ts'
import { unlessAborted } from '../../../core/base/time/abort.ts'
import { SerialQueue } from '../../../core/base/time/serial-queue.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import type { Load } from './metrics.ts'

interface StoredModels {
  /** Names of the models, most recently used first. */
  list(): Promise<readonly string[]>
  /** The listed name of the model that a request names; undefined if it is not stored. */
  find(name: string): Promise<string | undefined>
  load(name: string, signal: AbortSignal | undefined): Promise<Engine>
}

/** Addresses whose answers need a model. */
const ANSWERED = /\/(?:chat\/completions|completions|responses|embeddings|rerank)\/?$/

/** The engine in memory. */
interface Loaded {
  readonly name: string
  readonly engine: Engine
  /** Requests that it is answering. */
  users: number
  /** Called when the last of them ends. */
  onIdle: () => void
}

export class StoredEngines implements AsyncDisposable {
  readonly #models: StoredModels
  /**
   * Requests pass one at a time. A request for another model waits here until those before it have ended, and
   * later ones wait behind it, so none waits forever.
   */
  readonly #gate = new SerialQueue()
  #loaded: Loaded | undefined

  constructor(models: StoredModels) {
    this.#models = models
  }

  /** Like `openaiFetch`, over all models of the store. */
  answers(options: OpenAIFetchOptions): OpenAIFetch {
    return async (input, init) => {
      const request = new Request(input, init)
      const signal = init?.signal ?? undefined
      try {
        if (request.method !== 'POST' || !ANSWERED.test(new URL(request.url).pathname))
          return await this.#about(request)
        const { model } = await readBody(request.clone(), signal)
        const loaded = await this.#enter(model, signal)
        const leave = once(() => this.#leave(loaded))
        signal?.addEventListener('abort', leave, { once: true })
        const answer = openaiFetch({ [loaded.name]: loaded.engine }, options)
        return whenRead(
          await answer(request, init).catch((error) => {
            leave()
            throw error
          }),
          leave,
        )
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason
        return failure(errorAnswer(error))
      }
    }
  }

  async memory(): Promise<Load['memory']> {
    const loaded = this.#loaded
    return loaded === undefined ? [] : [{ model: loaded.name, use: await loaded.engine.memory() }]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#unload()
  }

  /** Answers without a model: lists all, or describes one. */
  async #about(request: Request): Promise<Response> {
    const names = await this.#models.list()
    const data = names.map((id) => ({ id, object: 'model', created: 0, owned_by: 'halfbyte' }))
    const { method, url } = request
    const { pathname } = new URL(url)
    const models = method === 'POST' ? null : /\/v1\/models(?:\/(.+?))?\/?$/.exec(pathname)
    if (models === null)
      return failure(errorOf(404, `${method} ${pathname} is not an endpoint of this server`, 'not_found'))
    const [, id] = models
    const found = data.find((each) => each.id === id || encodeURIComponent(each.id) === id)
    if (id !== undefined && found === undefined) throw new UnknownModel(shown(id), names)
    const answer = Response.json(id === undefined ? { object: 'list', data } : found)
    return method === 'HEAD' ? new Response(null, answer) : answer
  }

  /** Waits for the model of a request, which must call `#leave` when its answer is read. */
  #enter(asked: unknown, signal: AbortSignal | undefined): Promise<Loaded> {
    return this.#gate.run(async () => {
      signal?.throwIfAborted()
      const name = await this.#nameOf(asked)
      if (this.#loaded?.name !== name) {
        const before = this.#loaded
        if (before !== undefined && before.users > 0) {
          const idle = Promise.withResolvers<void>()
          before.onIdle = idle.resolve
          await unlessAborted(idle.promise, signal)
        }
        await this.#unload()
        const engine = await this.#models.load(name, signal)
        this.#loaded = { name, engine, users: 0, onIdle: () => undefined }
      }
      const loaded = this.#loaded as Loaded
      loaded.users++
      return loaded
    })
  }

  #leave(loaded: Loaded): void {
    if (--loaded.users === 0) loaded.onIdle()
  }

  async #unload(): Promise<void> {
    const loaded = this.#loaded
    this.#loaded = undefined
    await loaded?.engine.dispose()
  }

  /** Without a name: the model in memory, or the most recently used one. Throws `UnknownModel`. */
  async #nameOf(asked: unknown): Promise<string> {
    if (asked === undefined && this.#loaded !== undefined) return this.#loaded.name
    const found = asked === undefined ? (await this.#models.list())[0] : await this.#find(asked)
    if (found !== undefined) return found
    const names = await this.#models.list()
    throw new UnknownModel(shown(asked), names.length > 0 ? names : ['"halfbyte pull" to store one'])
  }

  async #find(asked: unknown): Promise<string | undefined> {
    return typeof asked === 'string' ? this.#models.find(asked) : undefined
  }
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) work()
    isDone = true
  }
}

/** The same response; calls `done` when its body has been read to its end, was cancelled or failed. */
function whenRead(response: Response, done: () => void): Response {
  const reader = response.body?.getReader()
  if (reader === undefined) {
    done()
    return response
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done: isEnd } = await reader.read()
        if (value !== undefined) controller.enqueue(value)
        if (!isEnd) return
        controller.close()
      } catch (error) {
        controller.error(error)
      }
      done()
    },
    async cancel(reason) {
      done()
      await reader.cancel(reason)
    },
  })
  return new Response(body, response)
}
