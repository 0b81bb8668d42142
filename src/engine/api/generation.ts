// A reply that the caller can iterate over, await or cancel.
import type { Outcome, PrefillProgress } from '../types/reply.ts'
import { type Feed, NO_REPLY, type Sink } from '../wire/reply-stream.ts'
import type { GenerateOptions, Generation, GenerationResult, ReplyChunk } from './types.ts'

/** Compiled `await using` falls back to the same registered symbol. */
export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose)

/**
 * Starts the work; its reports go to `sink`. `isWanted` is false if the generation settled while the start
 * waited; then nothing is started.
 */
type Begin = (sink: Sink, isWanted: () => boolean) => Promise<Feed | undefined>

export interface LiveGeneration extends Generation {
  /** Resolves when `result` has settled either way. */
  readonly settled: Promise<unknown>
}

/**
 * `onSettle` is called at the end, with the result if there is one, before any awaiting caller continues.
 * `onPrefill` may throw or reject, which ends the generation with its error.
 */
export function startGeneration(
  signal: AbortSignal | undefined,
  begin: Begin,
  onSettle?: (result: GenerationResult | undefined) => void,
  onPrefill?: GenerateOptions['onPrefill'],
): LiveGeneration {
  const it = new RunningGeneration(signal, onSettle, onPrefill)
  it.start(begin)
  return {
    settled: it.settled,
    get result() {
      it.drain()
      return it.result
    },
    async text() {
      it.drain()
      return (await it.result).text
    },
    cancel: (reason) => it.cancel(reason),
    [Symbol.asyncIterator]: () => ({
      next: () => it.next(),
      return: async () => {
        it.cancel()
        it.dropChunks()
        return { done: true, value: undefined }
      },
    }),
  }
}

/** State shared by a generation's methods. The methods themselves are closures, which callers may detach. */
class RunningGeneration {
  readonly result: Promise<GenerationResult>
  readonly settled: Promise<unknown>
  readonly #signal: AbortSignal | undefined
  readonly #onSettle: ((result: GenerationResult | undefined) => void) | undefined
  readonly #onPrefill: GenerateOptions['onPrefill']
  readonly #chunks: ReplyChunk[] = []
  readonly #wakes: (() => void)[] = []
  #feed: Feed | undefined
  /** Set if a caller waits for the end, so that credits are returned as chunks arrive. */
  #isDraining = false
  #isSettled = false
  #isCancelled = false
  #reason: unknown
  #failure: { readonly error: unknown } | undefined
  #resolve!: (result: GenerationResult) => void
  #reject!: (error: unknown) => void

  constructor(
    signal: AbortSignal | undefined,
    onSettle: ((result: GenerationResult | undefined) => void) | undefined,
    onPrefill: GenerateOptions['onPrefill'],
  ) {
    this.#signal = signal
    this.#onSettle = onSettle
    this.#onPrefill = onPrefill
    this.result = new Promise<GenerationResult>((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.settled = Promise.allSettled([this.result])
  }

  start(begin: Begin): void {
    this.#signal?.addEventListener('abort', this.#abort)
    const sink: Sink = {
      prefill: (progress) => void this.#tellPrefill(progress),
      chunk: (chunk) => this.#take(chunk),
      end: (outcome) => this.#end(outcome),
      fail: (error) => this.#fail(error),
    }
    const begun = this.#signal?.aborted
      ? Promise.reject(this.#signal.reason)
      : begin(sink, () => !this.#isSettled)
    begun.then((feed) => {
      this.#feed = feed
      if (this.#isSettled) feed?.cancel()
    }, sink.fail)
  }

  cancel(reason?: unknown): void {
    if (this.#isSettled || this.#isCancelled) return
    this.#isCancelled = true
    this.#reason = reason
    if (this.#feed === undefined) this.#end(NO_REPLY)
    else this.#feed.cancel()
  }

  async next(): Promise<IteratorResult<ReplyChunk, undefined>> {
    for (;;) {
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) {
        if (!this.#isDraining) this.#credit(1)
        return { done: false, value: chunk }
      }
      if (this.#failure !== undefined) throw this.#failure.error
      if (this.#isSettled) return { done: true, value: undefined }
      await new Promise<void>((wakeUp) => {
        this.#wakes.push(wakeUp)
      })
    }
  }

  drain(): void {
    if (this.#isDraining) return
    this.#isDraining = true
    this.#credit(this.#chunks.length)
  }

  dropChunks(): void {
    this.#chunks.length = 0
  }

  #take(chunk: ReplyChunk): void {
    if (this.#isSettled) return
    this.#chunks.push(chunk)
    if (this.#isDraining) this.#credit(1)
    this.#wake()
  }

  async #tellPrefill(progress: PrefillProgress): Promise<void> {
    if (this.#isSettled) return
    try {
      await this.#onPrefill?.(progress)
    } catch (error) {
      this.#feed?.cancel()
      this.#fail(error)
    }
  }

  #end(outcome: Outcome): void {
    if (!this.#settle()) return
    const given = this.#reason === undefined ? outcome : { ...outcome, reason: this.#reason }
    this.#onSettle?.(given)
    this.#resolve(given)
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
    this.dropChunks()
    this.#feed?.cancel()
    this.#fail(this.#signal?.reason)
  }

  #settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    this.#signal?.removeEventListener('abort', this.#abort)
    return true
  }

  #credit(count: number): void {
    // Chunks arrive in separate tasks, after the feed.
    if (count > 0 && !this.#isSettled) this.#feed?.credit(count)
  }

  #wake(): void {
    for (const each of this.#wakes.splice(0)) each()
  }
}
