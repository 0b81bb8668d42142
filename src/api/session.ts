// Sessions: one reply at a time, and the conversation so far.

import { HalfbyteError } from '../base/errors.ts'
import { plainOf, signalOf, wrongOption } from '../base/options.ts'
import { isCount } from '../base/values.ts'
import type { EngineClient, LongAsk } from '../engine/wire/client.ts'
import type { Message, Overflow, SavedSession } from '../engine/wire/protocol.ts'
import { asyncDispose } from './generation.ts'
import {
  checkVariables,
  decodeRequest,
  plainMessages,
  saidMessages,
  startReply,
} from './request/decode-options.ts'
import type {
  AbortOptions,
  GenerateOptions,
  Generation,
  GenerationResult,
  Session,
  SessionOptions,
} from './types.ts'

/** The start of a new session. */
export interface SessionSeed extends SessionOptions {
  readonly contextUsed?: number | undefined
}

export function createSession(client: EngineClient, seed: SessionSeed = {}, id = ++client.sessions): Session {
  const {
    system,
    templateArguments,
    overflow: policy,
    keep,
    messages: given = [],
    contextUsed: used = 0,
  } = seed
  checkVariables(templateArguments)
  const overflow: Overflow = { overflow: policy, keep }
  let messages: readonly Message[] = plainMessages('messages', given)
  let contextUsed = used
  // Resolves when every generation so far has settled.
  let turn: Promise<unknown> = Promise.resolve()
  const running = new Set<Generation>()
  let isDisposed = false
  return {
    get messages() {
      return messages
    },
    get contextUsed() {
      return contextUsed
    },
    send(input, options) {
      return answer((before) => [...before, ...saidMessages(input)], options)
    },
    edit: (index, content, options) =>
      answer((before) => {
        const old = isCount(index) ? before[index] : undefined
        if (old === undefined) throw wrongOption('index', index, `from 0 and below ${before.length}`)
        return [...before.slice(0, index), { role: old.role, content }]
      }, options),
    regenerate: (options) =>
      answer((before) => {
        const last = before.findLastIndex(({ role }) => role !== 'assistant')
        return before.slice(0, last + 1)
      }, options),
    setMessages(given) {
      if (running.size > 0) {
        throw new HalfbyteError(
          'unsupported',
          'messages cannot be replaced while a generation runs; cancel it and await its result first',
        )
      }
      messages = plainMessages('messages', given)
    },
    fork: (options) =>
      inTurn(options, async (service, _, signal) => {
        const copyId = ++client.sessions
        const copy = createSession(client, saved(), copyId)
        await service.fork(id, copyId)
        // No caller has this session, so its state must be freed.
        if (signal?.aborted) await copy.dispose()
        return copy
      }),
    save: (options) => inTurn(options, (service, port) => service.save(id, saved(), port)),
    store: (name, options) =>
      inTurn(options, (service, port) => service.store(id, plainOf('the name', name), saved(), port)),
    dispose,
    [asyncDispose]: dispose,
  }

  async function dispose(): Promise<void> {
    if (isDisposed) return
    isDisposed = true
    for (const generation of running) generation.cancel()
    try {
      await client.call((service) => service.close(id))
    } catch (error) {
      // An engine that has ended holds no state.
      if (!client.isOver) throw error
    }
  }

  /** What is saved of the session besides its state. */
  function saved(): SavedSession {
    return { system, messages, contextUsed, ...overflow }
  }

  /** Runs the request after all earlier ones, unless the signal has been aborted by then. */
  async function inTurn<T>(
    options: AbortOptions | undefined,
    ask: (...given: [...Parameters<LongAsk<T>>, signal: AbortSignal | undefined]) => Promise<T>,
  ): Promise<T> {
    const before = turn
    const signal = signalOf(options)
    return client.callAbortable(signal, async (service, port) => {
      await before
      signal?.throwIfAborted()
      check()
      return ask(service, port, signal)
    })
  }

  /** Runs `change` on the messages when the turn comes, then lets the model continue from them. */
  function answer(
    change: (messages: readonly Message[]) => readonly Message[],
    options: GenerateOptions | undefined,
  ): Generation {
    const turnBefore = turn
    let before: readonly Message[] | undefined
    const generation = startReply(
      options,
      async ({ tools, prefix, templateArguments: own, decode: given }, sink, isWanted) => {
        // Asking through the client makes this wait end if the engine's worker dies.
        await client.call(() => turnBefore)
        if (!isWanted()) return undefined
        const decode = await client.call(() => decodeRequest(given, isWanted))
        if (decode === undefined || !isWanted()) return undefined
        check()
        const changed = change(messages)
        if (changed.length === 0 || changed.at(-1)?.role === 'assistant') {
          throw new HalfbyteError(
            'unsupported',
            'there is nothing to answer; end the messages with a user message',
          )
        }
        before = messages
        messages = changed
        const prompt = {
          type: 'messages',
          messages: withSystem(changed),
          tools,
          prefix,
          templateArguments: { ...templateArguments, ...own },
        } as const
        return client.generate(
          { session: id, prompt, ...overflow, ...decode },
          {
            ...sink,
            end: (outcome, used) => {
              contextUsed = used
              sink.end(outcome, used)
            },
          },
        )
      },
      (result, { prefix }) => {
        running.delete(generation)
        if (before !== undefined)
          messages = result === undefined ? before : withReply(messages, result, prefix)
      },
    )
    running.add(generation)
    turn = generation.settled
    return generation
  }

  function withSystem(said: readonly Message[]): readonly Message[] {
    return system === undefined ? said : [{ role: 'system', content: system }, ...said]
  }

  function check(): void {
    if (isDisposed) throw new HalfbyteError('disposed', 'this session was disposed; create another')
  }
}

/** Restores a session from a file that `save` made or from a name that was given to `store`. */
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
    // As with a fork: no caller has this session.
    if (signal?.aborted) await session.dispose()
    return session
  })
}

const withReply = (
  messages: readonly Message[],
  { text, reasoning = '', toolCalls = [] }: GenerationResult,
  prefix = '',
): readonly Message[] => [
  ...messages,
  {
    role: 'assistant',
    content: prefix + text,
    ...(reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  },
]
