// A class with the interface of the browsers' own `LanguageModel`, based on a function that loads an engine.

import { wrongOption } from '../core/base/check-options.ts'
import { isHalfbyteError } from '../core/base/errors.ts'
import { SerialQueue } from '../core/base/time/serial-queue.ts'
import type { Engine } from '../engine/api/engine.ts'
import {
  type GenerateOptions,
  type GenerationResult,
  type LoadProgress,
  SAMPLER_DEFAULTS,
  type Session,
} from '../engine/api/types.ts'
import { loadOnce } from './load-once.ts'
import {
  browserError,
  type CreateOptions,
  type CreateRequest,
  checkKinds,
  checkSight,
  constraintOf,
  createRequest,
  type DownloadMonitor,
  isReadable,
  MAX_ROUNDS,
  type Prompt,
  type PromptMessage,
  type PromptOptions,
  promptOptions,
  quotaExceeded,
  readPrefixed,
  readPrompt,
  runCalls,
  withPrefix,
} from './prompt-api/input.ts'

/**
 * Calls an event's handler attribute as browsers do: its errors are reported without ending anything, and a
 * value that is not a function is ignored.
 */
function callHandler(target: EventTarget, type: string, handler: () => unknown): void {
  EventTarget.prototype.addEventListener.call(target, type, (event) => {
    const call = handler()
    if (typeof call === 'function') Reflect.apply(call, target, [event])
  })
}

/** `loaded` is a fraction of 1, as in the API. */
class MonitorTarget extends EventTarget implements DownloadMonitor {
  ondownloadprogress: ((event: ProgressEvent) => unknown) | null = null
  #last = -1

  constructor() {
    super()
    callHandler(this, 'downloadprogress', () => this.ondownloadprogress)
  }

  /** Every event of this target is a ProgressEvent. */
  override addEventListener(
    ...[type, listener, options]: Parameters<DownloadMonitor['addEventListener']>
  ): void {
    super.addEventListener(type, listener as EventListenerOrEventListenerObject | null, options)
  }

  /** Never reports the same number twice. */
  report(share: number): void {
    if (share === this.#last) return
    this.#last = share
    const progress = { loaded: share, total: 1, lengthComputable: true }
    this.dispatchEvent(Object.assign(new Event('downloadprogress'), progress))
  }
}

export type {
  CreateOptions,
  DownloadMonitor,
  Prompt,
  PromptMessage,
  PromptOptions,
  PromptTool,
  SamplingMode,
} from './prompt-api/input.ts'

/** Loads the engine that all sessions share. Called once, and again if it failed. */
export type LoadEngine = (hooks: {
  readonly signal: AbortSignal | undefined
  readonly onProgress: (progress: LoadProgress) => void
}) => Promise<Engine>

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available'

/** `LanguageModel` of the Prompt API, over our own engine. */
export interface LanguageModelClass {
  /**
   * `available` once an engine is loaded; `unavailable` if the page cannot run one, or if `options` expect
   * anything other than text and images. Images are `unavailable` once a model without vision has been
   * loaded. Rejects with TypeError for options that contradict each other.
   */
  availability(options?: CreateOptions): Promise<Availability>
  /**
   * Rejects with load errors, `NotSupportedError` for anything other than text and images, and for
   * images if the model was loaded without a vision tower, `QuotaExceededError` for initial prompts that
   * fill the context, or the signal's reason.
   */
  create(options?: CreateOptions): Promise<LocalLanguageModel>
}

export function promptApi(load: LoadEngine): LanguageModelClass {
  if (typeof load !== 'function') throw wrongOption('load', load, 'a function that loads an engine')
  const monitors = new Set<MonitorTarget>()
  let isBlind = false
  let state: Availability = typeof WebAssembly === 'object' ? 'downloadable' : 'unavailable'
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
      isBlind = !engine.model.seesImages
      return engine
    } catch (error) {
      state = 'downloadable'
      throw error
    }
  })
  return {
    async availability(options) {
      const { kinds, sees } = createRequest(options)
      return kinds.every(isReadable) && !(sees && isBlind) ? state : 'unavailable'
    },
    async create(options) {
      const request = createRequest(options)
      const { initial, signal } = request
      signal?.throwIfAborted()
      checkKinds(request)
      const monitor = new MonitorTarget()
      request.monitor?.(monitor)
      monitor.report(0)
      monitors.add(monitor)
      try {
        const engine = await start(signal)
        monitor.report(1)
        checkSight(request, engine.model.seesImages)
        const quota = engine.model.contextLength
        const used = initial.length === 0 ? 0 : await engine.countTokens(initial)
        if (used >= quota) throw quotaExceeded(used, quota)
        signal?.throwIfAborted()
        return new LocalLanguageModel(engine, request, engine.createSession({ messages: initial }), used)
      } finally {
        monitors.delete(monitor)
      }
    },
  }
}

/** The event for a conversation that has dropped its oldest exchange, under its newer and older names. */
const OVERFLOW_EVENTS = ['contextoverflow', 'quotaoverflow'] as const

/** The options of a session, which its clones share. */
type SessionSetup = Pick<CreateRequest, 'initial' | 'sampling' | 'tools' | 'sees'>

/**
 * One conversation. If it outgrows the context, its oldest exchanges are dropped; the initial prompts stay.
 */
export class LocalLanguageModel extends EventTarget {
  oncontextoverflow: ((event: Event) => unknown) | null = null
  /** @deprecated The older name of `oncontextoverflow`. */
  onquotaoverflow: ((event: Event) => unknown) | null = null
  readonly #engine: Engine
  readonly #setup: SessionSetup
  readonly #ended = new AbortController()
  #session: Session
  /** Tokens of the conversation while parts of it have not been read yet. */
  #unreadUsage: number | undefined
  /** A prompt leaves the queue after its tool calls. */
  readonly #queue = new SerialQueue()

  constructor(engine: Engine, setup: SessionSetup, session: Session, unreadUsage: number | undefined) {
    super()
    this.#engine = engine
    this.#setup = setup
    this.#session = session
    this.#unreadUsage = unreadUsage
    for (const name of OVERFLOW_EVENTS) callHandler(this, name, () => this[`on${name}`])
  }

  /** Number of tokens in the conversation. */
  get contextUsage(): number {
    return this.#unreadUsage ?? this.#session.contextUsed
  }

  /** Maximum number of tokens in the conversation. */
  get contextWindow(): number {
    return this.#engine.model.contextLength
  }

  /** @deprecated The older name of `contextUsage`. */
  get inputUsage(): number {
    return this.contextUsage
  }

  /** @deprecated The older name of `contextWindow`. */
  get inputQuota(): number {
    return this.contextWindow
  }

  /**
   * @deprecated What the page requested, or the model's default, or the engine's.
   */
  get temperature(): number {
    return this.#numberOf('temperature')
  }

  /**
   * @deprecated What the page requested, or the model's default, or the engine's.
   */
  get topK(): number {
    return this.#numberOf('topK')
  }

  #numberOf(key: 'temperature' | 'topK'): number {
    return this.#setup.sampling[key] ?? this.#engine.model.sampling[key] ?? SAMPLER_DEFAULTS[key]
  }

  /**
   * The whole reply, after all tool calls, without the prefix that the last message may be. Rejects with
   * `NotSupportedError` if a constraint cannot be enforced, `SyntaxError` for a prefix elsewhere and for a
   * reply that was cut off before it satisfied a constraint, `QuotaExceededError` (with `requested` and
   * `quota`) for a prompt that does not fit in the context, and tools' errors.
   */
  async prompt(input: Prompt, options?: PromptOptions): Promise<string> {
    let text = ''
    for await (const piece of this.#pieces(input, options)) text += piece
    return text
  }

  /** The pieces of the reply; no piece repeats earlier text. */
  promptStreaming(input: Prompt, options?: PromptOptions): ReadableStream<string> {
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

  /**
   * Adds messages without answering. They are counted now and read with the next prompt. Rejects with
   * `QuotaExceededError` if they do not fit in the context.
   */
  async append(input: Prompt, options?: PromptOptions): Promise<undefined> {
    const signal = this.#signalOf(options)
    const added = readPrompt(input, this.#setup.sees)
    await this.#queue.run(async () => {
      const before = this.#session.messages
      for (;;) {
        const all = [...this.#session.messages, ...added]
        const requested = await this.#engine.countTokens(all)
        if (requested < this.contextWindow) {
          this.#session.setMessages(all)
          this.#unreadUsage = requested
          return
        }
        if (this.#forgetOldest(added)) continue
        this.#session.setMessages(before)
        throw quotaExceeded(requested, this.contextWindow)
      }
    }, this.#until(signal))
  }

  /** Number of tokens of `input`, including the template around it. */
  async measureContextUsage(input: Prompt, options?: PromptOptions): Promise<number> {
    this.#signalOf(options)
    return this.#engine.countTokens(withPrefix(readPrefixed(input, this.#setup.sees)))
  }

  /** @deprecated The older name of `measureContextUsage`. */
  measureInputUsage(input: Prompt, options?: PromptOptions): Promise<number> {
    return this.measureContextUsage(input, options)
  }

  async clone(options?: PromptOptions): Promise<LocalLanguageModel> {
    const signal = this.#signalOf(options)
    const fork = await this.#queue.run(() => this.#session.fork(), this.#until(signal))
    return new LocalLanguageModel(this.#engine, this.#setup, fork, this.#unreadUsage)
  }

  /** Ends running prompts with an `AbortError` and frees the state. */
  destroy(): undefined {
    this.#ended.abort(new DOMException('the session was destroyed', 'AbortError'))
    void this.#session.dispose().catch(() => undefined)
  }

  async *#pieces(input: Prompt, given: PromptOptions | undefined): AsyncGenerator<string, void> {
    const options = promptOptions(given)
    this.#check(options.signal)
    const { said, prefix } = readPrefixed(input, this.#setup.sees)
    const form = constraintOf(options, this.#setup.tools)
    const signal = this.#until(options.signal)
    let leave = () => {}
    try {
      leave = await this.#queue.enter(signal)
      const reply = this.#conversation(said, { ...this.#setup.sampling, ...form, prefix, signal })
      if ((yield* reply) !== 'length' || options.responseConstraint === undefined) return
      throw new DOMException('the reply was cut off before it satisfied responseConstraint', 'SyntaxError')
    } catch (error) {
      throw browserError(error)
    } finally {
      leave()
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
    let prefix = options.prefix
    try {
      for (let round = 0; ; round++) {
        const { finishReason, toolCalls = [] } = yield* this.#answer(said, { ...options, prefix })
        if (toolCalls.length === 0) return finishReason
        if (round === MAX_ROUNDS) {
          throw new DOMException(`tools were called ${MAX_ROUNDS} times without an answer`, 'OperationError')
        }
        said = await runCalls(toolCalls, this.#setup.tools, options.signal)
        prefix = undefined
      }
    } catch (error) {
      // Unanswered calls would disturb the next prompt.
      this.#session.setMessages(before)
      throw error
    }
  }

  /** Streams one reply. Drops old messages first if the context is full. */
  async *#answer(
    said: readonly PromptMessage[],
    options: GenerateOptions,
  ): AsyncGenerator<string, GenerationResult> {
    for (;;) {
      try {
        const generation = this.#session.send(said, options)
        for await (const { text } of generation) if (text !== '') yield text
        const result = await generation.result
        this.#unreadUsage = undefined
        return result
      } catch (error) {
        // A prompt that is too long is rejected before the first piece.
        if (!isHalfbyteError(error) || error.code !== 'context-overflow') throw error
        const needed = [...this.#session.messages, ...said]
        if (this.#forgetOldest(said)) continue
        throw quotaExceeded(await this.#engine.countTokens(needed), this.contextWindow)
      }
    }
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#ended.signal : AbortSignal.any([this.#ended.signal, signal])
  }

  /** Drops the oldest question and its answers. Returns false if nothing more may be dropped. */
  #forgetOldest(said: readonly PromptMessage[]): boolean {
    const kept = this.#session.messages.slice(0, this.#setup.initial.length)
    const rest = this.#session.messages.slice(this.#setup.initial.length)
    if (rest.length === 0) return false
    const next = rest.findIndex(({ role }, index) => index > 0 && role === 'user')
    // Tool answers belong to the current question.
    if (next < 0 && said[0]?.role === 'tool') return false
    this.#session.setMessages([...kept, ...(next < 0 ? [] : rest.slice(next))])
    for (const name of OVERFLOW_EVENTS) this.dispatchEvent(new Event(name))
    return true
  }

  /** The signal of a call's options. Throws its reason if it is aborted. */
  #signalOf(options: PromptOptions | undefined): AbortSignal | undefined {
    const { signal } = promptOptions(options)
    this.#check(signal)
    return signal
  }

  #check(signal: AbortSignal | undefined): void {
    this.#ended.signal.throwIfAborted()
    signal?.throwIfAborted()
  }
}
