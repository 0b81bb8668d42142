// Prompt API. In: how to load an engine. Out: a class of the shape of the browsers' own `LanguageModel`.
import { isHalfbyteError } from '../../base/errors.ts'
import type { LoadProgress } from '../../engine/protocol.ts'
import type { Engine } from '../engine.ts'
import type { GenerateOptions, Session } from '../types.ts'
import {
  type CreateOptions,
  type DownloadMonitor,
  type Prompt,
  type PromptMessage,
  readPrompt,
  samplingOf,
} from './prompt-api-input.ts'

export type * from './prompt-api-input.ts'

/** Loads the engine that all sessions share; called once, and again after it failed. */
export type LoadEngine = (hooks: {
  readonly signal: AbortSignal | undefined
  readonly onProgress: (progress: LoadProgress) => void
}) => Promise<Engine>

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available'

export interface PromptOptions {
  readonly signal?: AbortSignal
}

/** `LanguageModel` of the Prompt API, over our own engine. */
export interface LanguageModelClass {
  /** `available` once an engine is loaded. `unavailable` where the page cannot run one. */
  availability(options?: object): Promise<Availability>
  /** Rejects with what loading threw, `NotSupportedError` for what no text model can do, or the signal's reason. */
  create(options?: CreateOptions): Promise<LocalLanguageModel>
}

export function promptApi(load: LoadEngine): LanguageModelClass {
  let state: Availability = typeof WebAssembly === 'object' ? 'downloadable' : 'unavailable'
  let engine: Promise<Engine> | undefined
  const monitors = new Set<DownloadMonitor>()
  const start = (signal: AbortSignal | undefined): Promise<Engine> => {
    state = 'downloading'
    const loading = load({
      signal,
      onProgress: (progress) => {
        if (progress.phase !== 'download' || progress.total === 0) return
        for (const monitor of monitors) monitor.report(progress.loaded / progress.total)
      },
    })
    loading.then(
      () => {
        state = 'available'
      },
      () => {
        state = 'downloadable'
        engine = undefined
      },
    )
    return loading
  }
  return {
    availability: async () => state,
    async create(options = {}) {
      options.signal?.throwIfAborted()
      const sampling = samplingOf(options)
      const initial = readPrompt(options.initialPrompts ?? [])
      const monitor = new MonitorTarget()
      options.monitor?.(monitor)
      monitors.add(monitor)
      try {
        engine ??= start(options.signal)
        const loaded = await engine
        monitor.report(1)
        return new LocalLanguageModel(loaded, initial, sampling)
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

/** One conversation. When it outgrows the context its oldest exchanges go; what it was created with stays. */
export class LocalLanguageModel extends EventTarget {
  oncontextoverflow: ((event: Event) => unknown) | null = null
  readonly #engine: Engine
  readonly #initial: readonly PromptMessage[]
  readonly #sampling: GenerateOptions
  readonly #ended = new AbortController()
  #session: Session

  constructor(
    engine: Engine,
    initial: readonly PromptMessage[],
    sampling: GenerateOptions,
    session: Session = engine.createSession({ messages: initial }),
  ) {
    super()
    this.#engine = engine
    this.#initial = initial
    this.#sampling = sampling
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
    this.#session.setMessages([...this.#session.messages, ...readPrompt(input)])
  }

  /** Tokens of `input`, the template around it included. */
  async measureContextUsage(input: Prompt, { signal }: PromptOptions = {}): Promise<number> {
    this.#check(signal)
    return this.#engine.countTokens(readPrompt(input))
  }

  async clone({ signal }: PromptOptions = {}): Promise<LocalLanguageModel> {
    this.#check(signal)
    return new LocalLanguageModel(this.#engine, this.#initial, this.#sampling, await this.#session.fork())
  }

  /** Ends what runs with an `AbortError` and frees the state. */
  destroy(): undefined {
    this.#ended.abort(new DOMException('the session was destroyed', 'AbortError'))
    void this.#session.dispose().catch(() => undefined)
  }

  async *#pieces(input: Prompt, options: PromptOptions): AsyncGenerator<string, void> {
    this.#check(options.signal)
    const said = readPrompt(input)
    const signals = [this.#ended.signal, ...(options.signal === undefined ? [] : [options.signal])]
    const signal = AbortSignal.any(signals)
    for (;;) {
      try {
        for await (const { text } of this.#session.send(said, { ...this.#sampling, signal })) yield text
        return
      } catch (error) {
        // Too long prompts are found before the first piece.
        if (!isHalfbyteError(error) || error.code !== 'context-overflow') throw error
        if (!this.#forgetOldest()) {
          throw new DOMException(`${error.message}`, 'QuotaExceededError')
        }
      }
    }
  }

  /** Drops the oldest question and its answers. False when nothing may be dropped any more. */
  #forgetOldest(): boolean {
    const kept = this.#session.messages.slice(0, this.#initial.length)
    const rest = this.#session.messages.slice(this.#initial.length)
    if (rest.length === 0) return false
    const next = rest.findIndex(({ role }, index) => index > 0 && role === 'user')
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
