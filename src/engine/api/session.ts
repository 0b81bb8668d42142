// Sessions: one reply at a time, and the conversation so far.

import { plainOf, signalOf, wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { SerialQueue } from '../../core/base/time/serial-queue.ts'
import { isCount } from '../../core/base/values.ts'
import type { Message, Overflow } from '../types/conversation.ts'
import type { Outcome } from '../types/reply.ts'
import type { EngineClient, LongAsk } from '../wire/client.ts'
import type { GenerateRequest, Prompt, SavedSession } from '../wire/protocol.ts'
import type { Feed, Sink } from '../wire/reply-stream.ts'
import { asyncDispose } from './generation.ts'
import {
  checkVariables,
  decodeRequest,
  described,
  notLoaded,
  plainMessages,
  type ReplyOptions,
  saidMessages,
  startReply,
} from './request/decode-options.ts'
import type {
  AbortOptions,
  GenerateOptions,
  Generation,
  PrefillOptions,
  PrefillResult,
  Session,
  SessionOptions,
} from './types.ts'

/** The start of a new session. */
interface SessionSeed extends SessionOptions {
  readonly contextUsed?: number | undefined
}

export function createSession(client: EngineClient, seed: SessionSeed = {}, id = ++client.sessions): Session {
  const it = new OpenSession(client, seed, id)
  const dispose = () => it.dispose()
  return {
    get messages() {
      return it.messages
    },
    get contextUsed() {
      return it.contextUsed
    },
    send: (input, options) => it.answer((before) => [...before, ...saidMessages(input)], options),
    edit: (index, content, options) =>
      it.answer((before) => {
        const old = isCount(index) ? before[index] : undefined
        if (old === undefined) throw wrongOption('index', index, `from 0 and below ${before.length}`)
        const { role, images } = old
        return [...before.slice(0, index), { role, content, ...(images !== undefined && { images }) }]
      }, options),
    regenerate: (options) =>
      it.answer((before) => {
        const last = before.findLastIndex(({ role }) => role !== 'assistant')
        return before.slice(0, last + 1)
      }, options),
    prefill: (options) => it.prefill(options),
    setMessages: (given) => it.setMessages(given),
    fork: (options) => it.fork(options),
    save: (options) => it.ask(options, (service, port) => service.save(id, it.saved(), port)),
    store: (name, options) =>
      it.ask(options, (service, port) => service.store(id, plainOf('the name', name), it.saved(), port)),
    dispose,
    [asyncDispose]: dispose,
  }
}

/** State shared by a session's methods. The methods themselves are closures, which callers may detach. */
class OpenSession {
  messages: readonly Message[]
  contextUsed: number
  readonly #client: EngineClient
  readonly #id: number
  readonly #system: string | undefined
  readonly #templateArguments: SessionSeed['templateArguments']
  readonly #overflow: Overflow
  /** The generations of this session. */
  readonly #queue = new SerialQueue()
  readonly #running = new Set<Generation>()
  /** The reading of the conversation in idle time. */
  #reading: Generation | undefined
  /** How often the oldest messages were removed, now and at the last request that has ended. */
  #removals = 0
  #removalsRead = 0
  #isDisposed = false

  constructor(client: EngineClient, seed: SessionSeed, id: number) {
    const { system, templateArguments, overflow, keep, messages = [], contextUsed = 0 } = seed
    checkVariables(templateArguments)
    this.#client = client
    this.#id = id
    this.#system = system
    this.#templateArguments = templateArguments
    this.#overflow = { overflow, keep }
    this.messages = plainMessages('messages', messages)
    this.contextUsed = contextUsed
  }

  setMessages(given: unknown): void {
    if (this.#running.size > 0) {
      throw new HalfbyteError(
        'unsupported',
        'messages cannot be replaced while a generation runs; cancel it and await its result first',
      )
    }
    const messages = plainMessages('messages', given)
    if (isEndOf(messages, this.messages)) this.#removals++
    this.messages = messages
  }

  /** Ends when an answer is requested, which continues from what it has read. */
  async prefill({ room, ...options }: PrefillOptions = {}): Promise<PrefillResult> {
    const earlier = this.#queue.settled()
    const reading = startReply({ priority: 'background', ...options }, async (reply, sink, isWanted) => {
      await this.#client.call(() => earlier)
      if (!isWanted()) return undefined
      this.#check()
      const tools = reply.tools?.map(described)
      return this.#request({ ...reply, tools }, { options: reply.decode, prefill: { room } }, sink)
    })
    this.#reading?.cancel()
    this.#reading = reading
    const { usage, finishReason } = await reading.result
    const { promptTokens, cachedTokens, droppedTokens } = usage
    return { promptTokens, cachedTokens, droppedTokens, isComplete: finishReason === 'stop' }
  }

  fork(options: AbortOptions | undefined): Promise<Session> {
    return this.ask(options, async (service, _, signal) => {
      const copyId = ++this.#client.sessions
      const copy = createSession(this.#client, this.saved(), copyId)
      await service.fork(this.#id, copyId)
      // No caller has this session, so its state must be freed here.
      if (signal?.aborted) await copy.dispose()
      return copy
    })
  }

  async dispose(): Promise<void> {
    if (this.#isDisposed) return
    this.#isDisposed = true
    this.#reading?.cancel()
    for (const generation of this.#running) generation.cancel()
    try {
      await this.#client.call((service) => service.close(this.#id))
    } catch (error) {
      // An engine that has ended has no state.
      if (!this.#client.isOver) throw error
    }
  }

  /** The data saved with the session besides its state. */
  saved(): SavedSession {
    return {
      system: this.#system,
      messages: this.messages,
      contextUsed: this.contextUsed,
      ...this.#overflow,
    }
  }

  /** Sends the request after all earlier generations, unless the signal has been aborted by then. */
  async ask<T>(
    options: AbortOptions | undefined,
    ask: (...given: [...Parameters<LongAsk<T>>, signal: AbortSignal | undefined]) => Promise<T>,
  ): Promise<T> {
    const earlier = this.#queue.settled()
    const signal = signalOf(options)
    return this.#client.callAbortable(signal, async (service, port) => {
      await earlier
      signal?.throwIfAborted()
      this.#check()
      return ask(service, port, signal)
    })
  }

  /** Runs `change` on the messages when the session's turn comes, then lets the model continue from them. */
  answer(
    change: (messages: readonly Message[]) => readonly Message[],
    options: GenerateOptions | undefined,
  ): Generation {
    this.#reading?.cancel()
    const earlier = this.#queue.settled()
    let before: readonly Message[] | undefined
    let hasSaid = false
    const generation = startReply(
      options,
      async (reply, sink, isWanted) => {
        // Going through the client ends this wait if the engine's worker dies.
        await this.#client.call(() => earlier)
        if (!isWanted()) return undefined
        const decode = await this.#client.call(() => decodeRequest(reply.decode, isWanted, reply.tools))
        if (decode === undefined || !isWanted()) return undefined
        this.#check()
        const changed = change(this.messages)
        checkAnswerable(changed)
        before = this.messages
        this.messages = changed
        const ask = (asked: ReplyOptions, to: Sink): Feed =>
          // Without tools there are no calls, so no call format is enforced.
          this.#request(asked, { ...decode, calls: asked.tools && decode.calls }, to)
        if (!reply.isRun) return ask(reply, sink)
        const { startSteps } = await import('./tools/tool-steps.ts').catch(notLoaded('runs tools'))
        return startSteps({
          reply,
          sink,
          ask,
          say: (outcome, begun, results) => {
            if (!isWanted()) return
            hasSaid = true
            this.messages = [...withReply(this.messages, outcome, begun), ...results]
          },
        })
      },
      (result, begun) => {
        this.#running.delete(generation)
        if (before === undefined) return
        if (result === undefined) this.messages = before
        else if (!hasSaid) this.messages = withReply(this.messages, result, begun)
      },
    )
    this.#running.add(generation)
    this.#queue.add(generation.settled)
    return generation
  }

  #request(
    asked: ReplyOptions,
    work: Pick<GenerateRequest, 'options' | 'constraint' | 'calls' | 'prefill'>,
    sink: Sink,
  ): Feed {
    const removals = this.#removals
    return this.#client.generate(
      {
        session: this.#id,
        prompt: this.#promptOf(asked),
        ...this.#overflow,
        ...(removals > this.#removalsRead && { isShortened: true }),
        ...work,
      },
      {
        ...sink,
        end: (outcome, used) => {
          this.contextUsed = used
          this.#removalsRead = removals
          sink.end(outcome, used)
        },
      },
    )
  }

  #promptOf({ tools, prefix, reasoningPrefix, templateArguments }: ReplyOptions): Prompt {
    const said = this.messages
    return {
      type: 'messages',
      messages: this.#system === undefined ? said : [{ role: 'system', content: this.#system }, ...said],
      tools,
      prefix,
      reasoningPrefix,
      templateArguments: { ...this.#templateArguments, ...templateArguments },
    }
  }

  #check(): void {
    if (this.#isDisposed) throw new HalfbyteError('disposed', 'this session was disposed; create another')
  }
}

function checkAnswerable(messages: readonly Message[]): void {
  if (messages.length > 0 && messages.at(-1)?.role !== 'assistant') return
  throw new HalfbyteError('unsupported', 'there is nothing to answer; end the messages with a user message', {
    name: 'messages',
  })
}

/** Restores a session from a file that `save` wrote or from a name that was passed to `store`. */
export async function restoreSession(
  client: EngineClient,
  file: Blob | string,
  options?: AbortOptions,
): Promise<Session> {
  const signal = signalOf(options)
  const plain = plainOf('the saved session', file)
  const id = ++client.sessions
  return client.callAbortable(signal, async (service, port) => {
    const session = createSession(client, await service.restore(id, plain, port), id)
    // As in `fork`, no caller has this session.
    if (signal?.aborted) await session.dispose()
    return session
  })
}

/**
 * True if `messages` continue `before` without its oldest ones. System messages at the beginning may stay,
 * and later ones may have changed, too.
 */
function isEndOf(messages: readonly Message[], before: readonly Message[]): boolean {
  const said = messages.slice(systemLength(messages))
  const common = (start: number): number => {
    const end = said.findIndex(({ role, content }, index) => {
      const other = before[start + index]
      // A wrong message, which the worker rejects, may have no role.
      return other === undefined || other.role !== role || other.content !== content
    })
    return end < 0 ? said.length : end
  }
  const first = systemLength(before)
  const whole = common(first)
  return before.some((_, start) => start > first && common(start) > whole)
}

/** The number of system messages at the beginning. */
function systemLength(messages: readonly Message[]): number {
  const first = messages.findIndex(({ role }) => role !== 'system')
  return first < 0 ? messages.length : first
}

function withReply(
  messages: readonly Message[],
  { text, reasoning = '', toolCalls = [] }: Outcome,
  { prefix = '', reasoningPrefix = '' }: Partial<ReplyOptions>,
): readonly Message[] {
  const thought = reasoningPrefix + reasoning
  const reply: Message = {
    role: 'assistant',
    content: prefix + text,
    ...(thought !== '' && { reasoning: thought }),
    ...(toolCalls.length > 0 && { toolCalls }),
  }
  return [...messages, reply]
}
