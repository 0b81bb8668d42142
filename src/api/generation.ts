// A reply that the caller can iterate over, await or cancel.
import type { Outcome, TextChunk } from '../engine/wire/protocol.ts'
import type { Feed, Sink } from '../engine/wire/stream.ts'
import type { Generation, GenerationResult } from './types.ts'

/** Compiled `await using` falls back to the same registered symbol. */
export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose)

/**
 * Starts the work; its reports go to `sink`. `isWanted` is false if the generation settled while the start
 * waited; then nothing is started.
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
    reasoningTokens: 0,
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

export interface LiveGeneration extends Generation {
  /** Resolves when `result` has settled either way. */
  readonly settled: Promise<unknown>
}

/** `onSettle` is called at the end, with the result if there is one, before any awaiting caller continues. */
export function startGeneration(
  signal: AbortSignal | undefined,
  begin: Begin,
  onSettle?: (result: GenerationResult | undefined) => void,
): LiveGeneration {
  const chunks: TextChunk[] = []
  const wakes: (() => void)[] = []
  let feed: Feed | undefined
  // A caller waits for the end, so credits are returned as chunks arrive.
  let isDraining = false
  let isSettled = false
  let isCancelled = false
  let reason: unknown
  let failure: { readonly error: unknown } | undefined
  let resolve!: (result: GenerationResult) => void
  let reject!: (error: unknown) => void
  const result = new Promise<GenerationResult>((onResult, onError) => {
    resolve = onResult
    reject = onError
  })
  const settled = Promise.allSettled([result])
  signal?.addEventListener('abort', abort)
  const begun = signal?.aborted
    ? Promise.reject(signal.reason)
    : begin({ chunk: take, end, fail }, () => !isSettled)
  begun.then(connect, fail)
  return {
    settled,
    get result() {
      drain()
      return result
    },
    async text() {
      drain()
      return (await result).text
    },
    cancel,
    [Symbol.asyncIterator]: () => ({
      next,
      return: async () => {
        cancel()
        chunks.length = 0
        return { done: true, value: undefined }
      },
    }),
  }

  function cancel(given?: unknown): void {
    if (isSettled || isCancelled) return
    isCancelled = true
    reason = given
    if (feed === undefined) end(NOTHING)
    else feed.cancel()
  }

  function take(chunk: TextChunk): void {
    if (isSettled) return
    chunks.push(chunk)
    if (isDraining) credit(1)
    wake()
  }

  function end(outcome: Outcome): void {
    if (!settle()) return
    const given = reason === undefined ? outcome : { ...outcome, reason }
    onSettle?.(given)
    resolve(given)
    wake()
  }

  function fail(error: unknown): void {
    if (!settle()) return
    failure = { error }
    onSettle?.(undefined)
    reject(error)
    wake()
  }

  function abort(): void {
    if (isSettled) return
    chunks.length = 0
    feed?.cancel()
    fail(signal?.reason)
  }

  function connect(its: Feed | undefined): void {
    feed = its
    if (isSettled) feed?.cancel()
  }

  function settle(): boolean {
    if (isSettled) return false
    isSettled = true
    signal?.removeEventListener('abort', abort)
    return true
  }

  async function next(): Promise<IteratorResult<TextChunk, undefined>> {
    for (;;) {
      const chunk = chunks.shift()
      if (chunk !== undefined) {
        if (!isDraining) credit(1)
        return { done: false, value: chunk }
      }
      if (failure !== undefined) throw failure.error
      if (isSettled) return { done: true, value: undefined }
      await new Promise<void>((wakeUp) => {
        wakes.push(wakeUp)
      })
    }
  }

  function drain(): void {
    if (isDraining) return
    isDraining = true
    credit(chunks.length)
  }

  function credit(count: number): void {
    // Chunks arrive in tasks of their own, after the feed.
    if (count > 0 && !isSettled) feed?.credit(count)
  }

  function wake(): void {
    for (const each of wakes.splice(0)) each()
  }
}
