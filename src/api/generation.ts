// Generations. In: the chunks and the end that a feed brings. Out: what a caller iterates, awaits or cancels.
import type { Outcome, TextChunk } from '../engine/protocol.ts'
import type { Feed, Sink } from '../engine/stream.ts'
import type { Generation, GenerationResult } from './types.ts'

/**
 * Starts the work; its reports go to `sink`. `isWanted` is false when the generation was settled while this waited:
 * then nothing is started.
 */
export type Begin = (sink: Sink, isWanted: () => boolean) => Promise<Feed | undefined>

const NOTHING: Outcome = Object.freeze({
  text: '',
  tokens: [],
  finishReason: 'cancelled',
  usage: {
    promptTokens: 0,
    cachedTokens: 0,
    droppedTokens: 0,
    completionTokens: 0,
    draftedTokens: 0,
    acceptedTokens: 0,
  },
  timings: {
    firstTokenMs: 0,
    prefillMs: 0,
    decodeMs: 0,
    prefillTokensPerSecond: 0,
    decodeTokensPerSecond: 0,
  },
})

export class LiveGeneration implements Generation {
  /** Resolves when `result` has settled either way. */
  readonly settled: Promise<unknown>
  readonly #result: Promise<GenerationResult>
  readonly #signal: AbortSignal | undefined
  readonly #onSettle: ((result: GenerationResult | undefined) => void) | undefined
  readonly #chunks: TextChunk[] = []
  #resolve!: (result: GenerationResult) => void
  #reject!: (error: unknown) => void
  readonly #wakes: (() => void)[] = []
  #feed: Feed | undefined
  /** Someone waits for the end, so chunks are paid for as they come. */
  #isDraining = false
  #isSettled = false
  #isCancelled = false
  #reason: unknown
  #failure: { readonly error: unknown } | undefined

  /** `onSettle` is told of the end, with the result or without one, before anyone who awaits it. */
  constructor(
    signal: AbortSignal | undefined,
    begin: Begin,
    onSettle?: (result: GenerationResult | undefined) => void,
  ) {
    this.#signal = signal
    this.#onSettle = onSettle
    this.#result = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.settled = Promise.allSettled([this.#result])
    signal?.addEventListener('abort', this.#abort)
    const sink: Sink = {
      chunk: (chunk) => this.#take(chunk),
      end: (outcome) => this.#end(outcome),
      fail: (error) => this.#fail(error),
    }
    const begun = signal?.aborted ? Promise.reject(signal.reason) : begin(sink, () => !this.#isSettled)
    begun.then((feed) => this.#connect(feed), sink.fail)
  }

  get result(): Promise<GenerationResult> {
    this.#drain()
    return this.#result
  }

  async text(): Promise<string> {
    return (await this.result).text
  }

  cancel(reason?: unknown): void {
    if (this.#isSettled || this.#isCancelled) return
    this.#isCancelled = true
    this.#reason = reason
    if (this.#feed === undefined) this.#end(NOTHING)
    else this.#feed.cancel()
  }

  [Symbol.asyncIterator](): AsyncIterator<TextChunk, undefined> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.cancel()
        this.#chunks.length = 0
        return { done: true, value: undefined }
      },
    }
  }

  #take(chunk: TextChunk): void {
    if (this.#isSettled) return
    this.#chunks.push(chunk)
    if (this.#isDraining) this.#credit(1)
    this.#wake()
  }

  #end(outcome: Outcome): void {
    if (!this.#settle()) return
    const result = this.#reason === undefined ? outcome : { ...outcome, reason: this.#reason }
    this.#onSettle?.(result)
    this.#resolve(result)
    this.#wake()
  }

  #fail(error: unknown): void {
    if (!this.#settle()) return
    this.#failure = { error }
    this.#onSettle?.(undefined)
    this.#reject(error)
    this.#wake()
  }

  readonly #abort = (): void => {
    if (this.#isSettled) return
    this.#chunks.length = 0
    this.#feed?.cancel()
    this.#fail(this.#signal?.reason)
  }

  #connect(feed: Feed | undefined): void {
    this.#feed = feed
    if (this.#isSettled) feed?.cancel()
  }

  #settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    this.#signal?.removeEventListener('abort', this.#abort)
    return true
  }

  async #next(): Promise<IteratorResult<TextChunk, undefined>> {
    for (;;) {
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) {
        if (!this.#isDraining) this.#credit(1)
        return { done: false, value: chunk }
      }
      if (this.#failure !== undefined) throw this.#failure.error
      if (this.#isSettled) return { done: true, value: undefined }
      await new Promise<void>((resolve) => {
        this.#wakes.push(resolve)
      })
    }
  }

  #drain(): void {
    if (this.#isDraining) return
    this.#isDraining = true
    this.#credit(this.#chunks.length)
  }

  #credit(count: number): void {
    // Chunks come in tasks of their own, behind the feed.
    if (count > 0 && !this.#isSettled) this.#feed?.credit(count)
  }

  #wake(): void {
    for (const wake of this.#wakes.splice(0)) wake()
  }
}
