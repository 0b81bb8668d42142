// One request of the soak, through OpenAI's own client. In: a server's address and a random generator. Out:
// how the request ended, and any fault of the answer.
import OpenAI from 'openai'
import type { Random } from '../../helpers/random.ts'
import { CONTEXT_LENGTH } from './limits.ts'

export interface Outcome {
  readonly kind: string
  /** `status 429` and the like: the server rejected the request. */
  readonly end: 'whole' | 'aborted' | `status ${number}`
  /** The fault of an answer. */
  readonly wrong?: string
}

/** Text of a reply that was read to its end. */
const TOKENS = 40

/** The prompts. Each has one greedy answer, whether it runs alone or with others. */
const ASKED = Array.from({ length: 8 }, (_, at) => `the river ${at} goes to the sea`)
const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'integer', minimum: 0, maximum: 99 }, b: { enum: ['yes', 'no'] } },
  required: ['a', 'b'],
  additionalProperties: false,
}

const KINDS = ['stream', 'stream', 'stream', 'whole', 'text', 'response', 'schema', 'vectors'] as const
type Kind = (typeof KINDS)[number]

export class Asker {
  readonly #client: OpenAI
  /** The greedy answers of a server that is otherwise idle. */
  readonly #alone = new Map<string, string>()

  constructor(baseURL: string) {
    this.#client = new OpenAI({ apiKey: 'none', baseURL, maxRetries: 0 })
  }

  /** Sends each prompt once, one after another. */
  async learn(): Promise<void> {
    for (const content of ASKED) this.#alone.set(content, await this.#streamed(content, undefined, TOKENS))
  }

  /** One request of any kind; `leaves` aborts it in the middle. */
  async ask(random: Random, leaves: boolean, kind: Kind = random.pick(KINDS)): Promise<Outcome> {
    const abort = new AbortController()
    const content = random.pick(ASKED)
    const patience = leaves ? random.between(0, 60) : undefined
    const timer = patience === undefined ? undefined : setTimeout(() => abort.abort(), patience)
    try {
      const wrong = await this.#send(kind, content, abort.signal, leaves ? CONTEXT_LENGTH : TOKENS)
      // In this client, an aborted stream ends as if it were complete.
      if (abort.signal.aborted) return { kind, end: 'aborted' }
      return { kind, end: 'whole', ...(wrong === undefined ? {} : { wrong: `${kind}: ${wrong}` }) }
    } catch (error) {
      if (error instanceof OpenAI.APIUserAbortError || abort.signal.aborted) return { kind, end: 'aborted' }
      if (error instanceof OpenAI.APIError && error.status !== undefined)
        return { kind, end: `status ${error.status}`, ...unexpected(kind, error) }
      return { kind, end: 'status 0', wrong: `${kind}: ${String(error)}` }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Returns the answer's fault, or undefined. */
  async #send(kind: Kind, content: string, signal: AbortSignal, most: number): Promise<string | undefined> {
    const messages = [{ role: 'user' as const, content }]
    const common = { model: 'soak', temperature: 0 }
    switch (kind) {
      case 'stream':
        return this.#differs(content, await this.#streamed(content, signal, most))
      case 'whole': {
        const { choices } = await this.#client.chat.completions.create(
          { ...common, messages, max_tokens: most },
          { signal },
        )
        return this.#differs(content, choices[0]?.message.content ?? '')
      }
      case 'text': {
        const body = { ...common, prompt: content, max_tokens: most, stream: true as const, n: 2 }
        let parts = 0
        for await (const _ of await this.#client.completions.create(body, { signal })) parts++
        return parts > 1 ? undefined : 'a stream of texts had no parts'
      }
      case 'response': {
        const body = { model: 'soak', input: content, max_output_tokens: most, stream: true as const }
        let last = ''
        for await (const { type } of await this.#client.responses.create(body, { signal })) last = type
        return /^response\.(?:completed|incomplete)$/.test(last) ? undefined : `the last event was ${last}`
      }
      case 'schema': {
        const format = {
          type: 'json_schema' as const,
          json_schema: { name: 'ab', schema: SCHEMA, strict: true },
        }
        const { choices } = await this.#client.chat.completions.create(
          { ...common, messages, response_format: format },
          { signal },
        )
        const text = choices[0]?.message.content ?? ''
        return /^\s*\{\s*"a"\s*:\s*\d+\s*,\s*"b"\s*:\s*"(?:yes|no)"\s*\}\s*$/.test(text)
          ? undefined
          : `${text} does not fit the schema`
      }
      case 'vectors': {
        const { data } = await this.#client.embeddings.create(
          { model: 'soak', input: [content, 'a'] },
          { signal },
        )
        return data.length === 2 ? undefined : `${data.length} vectors for 2 texts`
      }
    }
  }

  async #streamed(content: string, signal: AbortSignal | undefined, most: number): Promise<string> {
    const body = {
      model: 'soak',
      temperature: 0,
      max_tokens: most,
      messages: [{ role: 'user' as const, content }],
      stream: true as const,
    }
    let text = ''
    for await (const { choices } of await this.#client.chat.completions.create(body, { signal }))
      text += choices[0]?.delta.content ?? ''
    return text
  }

  #differs(content: string, text: string): string | undefined {
    const alone = this.#alone.get(content)
    return text === alone
      ? undefined
      : `${JSON.stringify(content)} got ${JSON.stringify(text)}, but alone ${JSON.stringify(alone)}`
  }
}

/** Only a full server may reject requests. */
const unexpected = (kind: Kind, error: { status?: number | undefined; message: string }) =>
  error.status === 429 ? {} : { wrong: `${kind}: ${error.message}` }
