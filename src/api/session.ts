// Sessions. In: what is said. Out: replies, one turn at a time, and the conversation so far.
import { HalfbyteError } from '../base/errors.ts'
import { wrongOption } from '../base/options.ts'
import type { EngineClient, LongAsk } from '../engine/client.ts'
import type { Message, Overflow, SavedSession } from '../engine/protocol.ts'
import type { StoredSession } from '../store/sessions.ts'
import { decodeOptions } from './decode-options.ts'
import { asyncDispose } from './dispose.ts'
import { startGeneration } from './generation.ts'
import { plainMessage } from './messages.ts'
import type {
  AbortOptions,
  GenerateOptions,
  Generation,
  GenerationResult,
  Session,
  SessionOptions,
} from './types.ts'

/** What a new session starts from. */
export interface SessionSeed extends SessionOptions {
  readonly contextUsed?: number | undefined
}

export class ChatSession implements Session {
  readonly #client: EngineClient
  readonly #newId: () => number
  readonly #id: number
  readonly #system: string | undefined
  readonly #overflow: Overflow
  #messages: readonly Message[]
  #contextUsed: number
  /** Resolves when every generation so far has settled. */
  #turn: Promise<unknown> = Promise.resolve()
  readonly #running = new Set<Generation>()
  #isDisposed = false

  constructor(client: EngineClient, newId: () => number, seed: SessionSeed = {}) {
    this.#client = client
    this.#newId = newId
    this.#id = newId()
    this.#system = seed.system
    this.#overflow = { overflow: seed.overflow, keep: seed.keep }
    this.#messages = (seed.messages ?? []).map(plainMessage)
    this.#contextUsed = seed.contextUsed ?? 0
  }

  get messages(): readonly Message[] {
    return this.#messages
  }

  get contextUsed(): number {
    return this.#contextUsed
  }

  send(input: string | Message | readonly Message[], options: GenerateOptions = {}): Generation {
    const said = typeof input === 'string' ? [{ role: 'user', content: input } as const] : [input].flat()
    return this.#answer((messages) => [...messages, ...said.map(plainMessage)], options)
  }

  edit(index: number, content: string, options: GenerateOptions = {}): Generation {
    return this.#answer((messages) => {
      const old = messages[index]
      if (old === undefined) throw wrongOption('index', index, `from 0 and below ${messages.length}`)
      return [...messages.slice(0, index), { role: old.role, content }]
    }, options)
  }

  regenerate(options: GenerateOptions = {}): Generation {
    return this.#answer((messages) => {
      const last = messages.findLastIndex(({ role }) => role !== 'assistant')
      return messages.slice(0, last + 1)
    }, options)
  }

  setMessages(messages: readonly Message[]): void {
    if (this.#running.size > 0) {
      throw new HalfbyteError(
        'unsupported',
        'messages cannot be replaced while a generation runs; cancel it and await its result first',
      )
    }
    this.#messages = messages.map(plainMessage)
  }

  fork({ signal }: AbortOptions = {}): Promise<Session> {
    return this.#inTurn(signal, async (service) => {
      const copy = new ChatSession(this.#client, this.#newId, this.#saved)
      await service.fork(this.#id, copy.#id)
      // Nobody has it then, so its state must not stay.
      if (signal?.aborted) await copy.dispose()
      return copy
    })
  }

  save({ signal }: AbortOptions = {}): Promise<Blob> {
    return this.#inTurn(signal, (service, port) => service.save(this.#id, this.#saved, port))
  }

  store(name: string, { signal }: AbortOptions = {}): Promise<StoredSession> {
    return this.#inTurn(signal, (service, port) => service.store(this.#id, name, this.#saved, port))
  }

  /** A session from what `save` gave, or from a name that was given to `store`. */
  static restore(
    client: EngineClient,
    newId: () => number,
    file: Blob | string,
    { signal }: AbortOptions = {},
  ): Promise<Session> {
    const id = newId()
    return client.callAbortable(signal, async (service, port) => {
      const session = new ChatSession(client, () => id, await service.restore(id, file, port))
      // As with a fork.
      if (signal?.aborted) await session.dispose()
      return session
    })
  }

  async dispose(): Promise<void> {
    if (this.#isDisposed) return
    this.#isDisposed = true
    for (const generation of this.#running) generation.cancel()
    try {
      await this.#client.call((service) => service.close(this.#id))
    } catch (error) {
      // An engine that is gone holds no state.
      if (!this.#client.isOver) throw error
    }
  }

  [asyncDispose](): Promise<void> {
    return this.dispose()
  }

  /** What is kept of the session besides its state. */
  get #saved(): SavedSession {
    const conversation = { system: this.#system, messages: this.#messages, contextUsed: this.#contextUsed }
    return { ...conversation, ...this.#overflow }
  }

  /** Asks when everything asked so far is done, unless the signal is aborted by then. */
  #inTurn<T>(signal: AbortSignal | undefined, ask: LongAsk<T>): Promise<T> {
    const turn = this.#turn
    return this.#client.callAbortable(signal, async (service, port) => {
      await turn
      signal?.throwIfAborted()
      this.#check()
      return ask(service, port)
    })
  }

  /** Runs `change` on the messages when the turn comes, then lets the model go on from there. */
  #answer(
    change: (messages: readonly Message[]) => readonly Message[],
    options: GenerateOptions,
  ): Generation {
    const decode = decodeOptions(options)
    const turn = this.#turn
    let before: readonly Message[] | undefined
    const generation = startGeneration(
      options.signal,
      async (sink, isWanted) => {
        // Asked through the client, the wait ends with the engine when that dies.
        await this.#client.call(() => turn)
        if (!isWanted()) return undefined
        this.#check()
        const messages = change(this.#messages)
        if (messages.length === 0 || messages.at(-1)?.role === 'assistant') {
          throw new HalfbyteError(
            'unsupported',
            'there is nothing to answer; end the messages with one of the user',
          )
        }
        before = this.#messages
        this.#messages = messages
        const { tools } = options
        const prompt = { type: 'messages', messages: this.#withSystem(messages), tools } as const
        return this.#client.generate(
          { session: this.#id, prompt, ...this.#overflow, options: decode },
          {
            ...sink,
            end: (outcome, contextUsed) => {
              this.#contextUsed = contextUsed
              sink.end(outcome, contextUsed)
            },
          },
        )
      },
      (result) => {
        this.#running.delete(generation)
        if (before !== undefined)
          this.#messages = result === undefined ? before : withReply(this.#messages, result)
      },
    )
    this.#running.add(generation)
    this.#turn = generation.settled
    return generation
  }

  #withSystem(messages: readonly Message[]): readonly Message[] {
    return this.#system === undefined ? messages : [{ role: 'system', content: this.#system }, ...messages]
  }

  #check(): void {
    if (this.#isDisposed) throw new HalfbyteError('disposed', 'this session was disposed; create another')
  }
}

const withReply = (
  messages: readonly Message[],
  { text, toolCalls = [] }: GenerationResult,
): readonly Message[] => [
  ...messages,
  { role: 'assistant', content: text, ...(toolCalls.length > 0 && { toolCalls }) },
]
