// Prompt API. In: how to load an engine. Out: a class of the shape of the browsers' own `LanguageModel`.
import { isHalfbyteError } from '../../base/errors.ts'
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

/** Loads the engine that all sessions share; called once, and again after it failed. */
export type LoadEngine = (hooks: {
  readonly signal: AbortSignal | undefined
  readonly onProgress: (progress: LoadProgress) => void
}) => Promise<Engine>

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available'

/** `LanguageModel` of the Prompt API, over our own engine. */
export interface LanguageModelClass {
  /** `available` once an engine is loaded. `unavailable` where the page cannot run one. */
  availability(options?: object): Promise<Availability>
  /** Rejects with what loading threw, `NotSupportedError` for what no text model can do, or the signal's reason. */
  create(options?: CreateOptions): Promise<LocalLanguageModel>
}

export function promptApi(load: LoadEngine): LanguageModelClass {
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

/** `loaded` is a share of 1, as the API has it. */
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

/** What a session was created with, and its clones have too. */
interface SessionSetup {
  readonly initial: readonly PromptMessage[]
  readonly sampling: GenerateOptions
  readonly tools: readonly PromptTool[]
}

/** One conversation. When it outgrows the context its oldest exchanges go; what it was created with stays. */
export class LocalLanguageModel extends EventTarget {
  oncontextoverflow: ((event: Event) => unknown) | null = null
  readonly #engine: Engine
  readonly #setup: SessionSetup
  readonly #ended = new AbortController()
  #session: Session
  /** Resolves when every prompt so far has ended, what its tools answered included. */
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

  /** Tokens that the conversation holds. */
  get contextUsage(): number {
    return this.#session.contextUsed
  }

  /** Tokens that it may hold. */
  get contextWindow(): number {
    return this.#engine.model.contextLength
  }

  /**
   * The whole reply, behind what the tools answered. Rejects with `NotSupportedError` for a constraint that cannot be honoured,
   * `SyntaxError` for a reply that was cut off before it met one, and what a tool rejects with.
   */
  async prompt(input: Prompt, options: PromptOptions = {}): Promise<string> {
    let text = ''
    for await (const piece of this.#pieces(input, options)) text += piece
    return text
  }

  /** Pieces of the reply, each of them new. */
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

  /** Adds messages without answering; they are read with the next prompt. */
  async append(input: Prompt, { signal }: PromptOptions = {}): Promise<undefined> {
    this.#check(signal)
    const added = readPrompt(input)
    await this.#inTurn(signal, () => this.#session.setMessages([...this.#session.messages, ...added]))
  }

  /** Tokens of `input`, the template around it included. */
  async measureContextUsage(input: Prompt, { signal }: PromptOptions = {}): Promise<number> {
    this.#check(signal)
    return this.#engine.countTokens(readPrompt(input))
  }

  async clone({ signal }: PromptOptions = {}): Promise<LocalLanguageModel> {
    this.#check(signal)
    const session = await this.#inTurn(signal, () => this.#session.fork())
    return new LocalLanguageModel(this.#engine, this.#setup, session)
  }

  /** Ends what runs with an `AbortError` and frees the state. */
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
      throw new DOMException(
        'the reply was cut off before it was what responseConstraint asks for',
        'SyntaxError',
      )
    } catch (error) {
      if (isHalfbyteError(error) && error.code === 'unsupported') throw unsupported(error.message)
      throw error
    } finally {
      turn.end()
    }
  }

  /** Streams replies, running what they call, up to one that calls nothing; says how that ended. */
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
      // Calls that nobody answered would stand in the way of what is said next.
      this.#session.setMessages(before)
      throw error
    }
  }

  /** Streams one reply. Makes room for it when the context has none. */
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
        // Too long prompts are found before the first piece.
        if (!isHalfbyteError(error) || error.code !== 'context-overflow') throw error
        if (!this.#forgetOldest(said)) throw new DOMException(`${error.message}`, 'QuotaExceededError')
      }
    }
  }

  /** What is done when every prompt so far has ended. */
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

  /** Drops the oldest question and its answers. False when nothing may be dropped any more. */
  #forgetOldest(said: readonly PromptMessage[]): boolean {
    const kept = this.#session.messages.slice(0, this.#setup.initial.length)
    const rest = this.#session.messages.slice(this.#setup.initial.length)
    if (rest.length === 0) return false
    const next = rest.findIndex(({ role }, index) => index > 0 && role === 'user')
    // What tools answer belongs to the question that is there.
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
