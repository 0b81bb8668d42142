// Prompt API. In: a function that loads an engine. Out: a class with the interface of the browsers' own
// `LanguageModel`.
import { isHalfbyteError } from '../../base/errors.ts'
import { wrongOption } from '../../base/options.ts'
import type { LoadProgress } from '../../engine/wire/protocol.ts'
import type { Engine } from '../engine.ts'
import type { GenerateOptions, GenerationResult, Session } from '../types.ts'
import { loadOnce } from './load-once.ts'
import {
  type CreateOptions,
  constraintOf,
  type DownloadMonitor,
  type Prompt,
  type PromptMessage,
  type PromptOptions,
  type PromptTool,
  readPrompt,
  samplingOf,
  toolsOf,
  unsupported,
} from './prompt-api-input.ts'
import { MOST_ROUNDS, runCalls, unlessAborted } from './prompt-api-tools.ts'

export type * from './prompt-api-input.ts'

/** Loads the engine that all sessions share. Called once, and again after it failed. */
export type LoadEngine = (hooks: {
  readonly signal: AbortSignal | undefined
  readonly onProgress: (progress: LoadProgress) => void
}) => Promise<Engine>

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available'

/** `LanguageModel` of the Prompt API, over our own engine. */
export interface LanguageModelClass {
  /** `available` once an engine is loaded; `unavailable` if the page cannot run one. */
  availability(options?: object): Promise<Availability>
  /**
   * Rejects with the error of loading, `NotSupportedError` for anything other than text, or the signal's
   * reason.
   */
  create(options?: CreateOptions): Promise<LocalLanguageModel>
}

export function promptApi(load: LoadEngine): LanguageModelClass {
  if (typeof load !== 'function') throw wrongOption('load', load, 'a function that loads an engine')
  let state: Availability = typeof WebAssembly === 'object' ? 'downloadable' : 'unavailable'
  const monitors = new Set<DownloadMonitor>()
  const start = loadOnce(async (signal: AbortSignal | undefined): Promise<Engine> => {
    state = 'downloading'
    try {
      const engine = await load({
        signal,
        onProgress: (progress) => {
          if (progress.phase !== 'download' || progress.total === 0) return
          for (const monitor of monitors) monitor.report(progress.loaded / progress.total)
        },
      })
      state = 'available'
      return engine
    } catch (error) {
      state = 'downloadable'
      throw error
    }
  })
  return {
    availability: async () => state,
    async create(options = {}) {
      options.signal?.throwIfAborted()
      const sampling = samplingOf(options)
      const setup = { initial: readPrompt(options.initialPrompts ?? []), sampling, tools: toolsOf(options) }
      const monitor = new MonitorTarget()
      options.monitor?.(monitor)
      monitors.add(monitor)
      try {
        const engine = await start(options.signal)
        monitor.report(1)
        return new LocalLanguageModel(engine, setup)
      } finally {
        monitors.delete(monitor)
      }
    },
  }
}

/** `loaded` is a fraction of 1, as in the API. */
class MonitorTarget extends EventTarget implements DownloadMonitor {
  ondownloadprogress: ((event: Event) => unknown) | null = null

  report(share: number): void {
    const event = Object.assign(new Event('downloadprogress'), {
      loaded: share,
      total: 1,
      lengthComputable: true,
    })
    this.dispatchEvent(event)
    this.ondownloadprogress?.(event)
  }
}

/** The options of a session, which its clones share. */
interface SessionSetup {
  readonly initial: readonly PromptMessage[]
  readonly sampling: GenerateOptions
  readonly tools: readonly PromptTool[]
}

/**
 * One conversation. If it outgrows the context, its oldest exchanges are dropped; the initial prompts stay.
 */
export class LocalLanguageModel extends EventTarget {
  oncontextoverflow: ((event: Event) => unknown) | null = null
  readonly #engine: Engine
  readonly #setup: SessionSetup
  readonly #ended = new AbortController()
  #session: Session
  /** Resolves when every prompt so far has ended, including its tool calls. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    engine: Engine,
    setup: SessionSetup,
    session: Session = engine.createSession({ messages: setup.initial }),
  ) {
    super()
    this.#engine = engine
    this.#setup = setup
    this.#session = session
  }

  /** Number of tokens that the conversation holds. */
  get contextUsage(): number {
    return this.#session.contextUsed
  }

  /** Number of tokens that it may hold. */
  get contextWindow(): number {
    return this.#engine.model.contextLength
  }

  /**
   * The whole reply, after all tool calls. Rejects with `NotSupportedError` if a constraint cannot be
   * enforced, `SyntaxError` if the reply was cut off before it satisfied one, and the errors of tools.
   */
  async prompt(input: Prompt, options: PromptOptions = {}): Promise<string> {
    let text = ''
    for await (const piece of this.#pieces(input, options)) text += piece
    return text
  }

  /** The pieces of the reply; no piece repeats earlier text. */
  promptStreaming(input: Prompt, options: PromptOptions = {}): ReadableStream<string> {
    const pieces = this.#pieces(input, options)
    return new ReadableStream<string>({
      async pull(controller) {
        const { done, value } = await pieces.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await pieces.return()
      },
    })
  }

  /** Adds messages without answering. They are read with the next prompt. */
  async append(input: Prompt, { signal }: PromptOptions = {}): Promise<undefined> {
    this.#check(signal)
    const added = readPrompt(input)
    await this.#inTurn(signal, () => this.#session.setMessages([...this.#session.messages, ...added]))
  }

  /** Number of tokens of `input`, including the template around it. */
  async measureContextUsage(input: Prompt, { signal }: PromptOptions = {}): Promise<number> {
    this.#check(signal)
    return this.#engine.countTokens(readPrompt(input))
  }

  async clone({ signal }: PromptOptions = {}): Promise<LocalLanguageModel> {
    this.#check(signal)
    const session = await this.#inTurn(signal, () => this.#session.fork())
    return new LocalLanguageModel(this.#engine, this.#setup, session)
  }

  /** Ends running prompts with an `AbortError` and frees the state. */
  destroy(): undefined {
    this.#ended.abort(new DOMException('the session was destroyed', 'AbortError'))
    void this.#session.dispose().catch(() => undefined)
  }

  async *#pieces(input: Prompt, options: PromptOptions): AsyncGenerator<string, void> {
    this.#check(options.signal)
    const said = readPrompt(input)
    const form = constraintOf(options, this.#setup.tools)
    const turn = this.#takeTurn()
    const signal = this.#until(options.signal)
    try {
      await unlessAborted(turn.before, signal)
      const reply = this.#conversation(said, { ...this.#setup.sampling, ...form, signal })
      if ((yield* reply) !== 'length' || options.responseConstraint === undefined) return
      throw new DOMException('the reply was cut off before it satisfied responseConstraint', 'SyntaxError')
    } catch (error) {
      if (isHalfbyteError(error) && error.code === 'unsupported') throw unsupported(error.message)
      throw error
    } finally {
      turn.end()
    }
  }

  /**
   * Streams replies and runs the tools that they call, until a reply calls none. Returns how that reply
   * ended.
   */
  async *#conversation(
    prompt: readonly PromptMessage[],
    options: GenerateOptions & { readonly signal: AbortSignal },
  ): AsyncGenerator<string, GenerationResult['finishReason']> {
    const before = this.#session.messages
    let said = prompt
    try {
      for (let round = 0; ; round++) {
        const { finishReason, toolCalls = [] } = yield* this.#answer(said, options)
        if (toolCalls.length === 0) return finishReason
        if (round === MOST_ROUNDS) {
          throw new DOMException(`tools were called ${MOST_ROUNDS} times without an answer`, 'OperationError')
        }
        said = await runCalls(toolCalls, this.#setup.tools, options.signal)
      }
    } catch (error) {
      // Unanswered calls would disturb the next prompt.
      this.#session.setMessages(before)
      throw error
    }
  }

  /** Streams one reply. Makes room for it if the context is full. */
  async *#answer(
    said: readonly PromptMessage[],
    options: GenerateOptions,
  ): AsyncGenerator<string, GenerationResult> {
    for (;;) {
      try {
        const generation = this.#session.send(said, options)
        for await (const { text } of generation) yield text
        return await generation.result
      } catch (error) {
        // A prompt that is too long is rejected before the first piece.
        if (!isHalfbyteError(error) || error.code !== 'context-overflow') throw error
        if (!this.#forgetOldest(said)) throw new DOMException(`${error.message}`, 'QuotaExceededError')
      }
    }
  }

  /** Runs `work` after every earlier prompt has ended. */
  async #inTurn<Result>(
    signal: AbortSignal | undefined,
    work: () => Result | Promise<Result>,
  ): Promise<Result> {
    const turn = this.#takeTurn()
    try {
      await unlessAborted(turn.before, this.#until(signal))
      return await work()
    } finally {
      turn.end()
    }
  }

  #takeTurn(): { readonly before: Promise<unknown>; readonly end: () => void } {
    const before = this.#turn
    let end = (): void => undefined
    const own = new Promise<void>((resolve) => {
      end = resolve
    })
    this.#turn = Promise.all([before, own])
    return { before, end }
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#ended.signal : AbortSignal.any([this.#ended.signal, signal])
  }

  /** Drops the oldest question and its answers. False if nothing more may be dropped. */
  #forgetOldest(said: readonly PromptMessage[]): boolean {
    const kept = this.#session.messages.slice(0, this.#setup.initial.length)
    const rest = this.#session.messages.slice(this.#setup.initial.length)
    if (rest.length === 0) return false
    const next = rest.findIndex(({ role }, index) => index > 0 && role === 'user')
    // Tool answers belong to the current question.
    if (next < 0 && said[0]?.role === 'tool') return false
    this.#session.setMessages([...kept, ...(next < 0 ? [] : rest.slice(next))])
    const event = new Event('contextoverflow')
    this.dispatchEvent(event)
    this.oncontextoverflow?.(event)
    return true
  }

  #check(signal: AbortSignal | undefined): void {
    this.#ended.signal.throwIfAborted()
    signal?.throwIfAborted()
  }
}
