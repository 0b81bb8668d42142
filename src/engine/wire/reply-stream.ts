// The two ends of a reply's port: an outlet that waits for credit, and a feed that passes chunks on.
import { HalfbyteError } from '../../core/base/errors.ts'
import type { Outcome, PrefillProgress, TextChunk } from '../types/reply.ts'
import type { StreamCommand, StreamReport } from './protocol.ts'
import { fromFailure, toFailure } from './wire-failure.ts'

/** Number of chunks that a stream may be ahead of its reader. */
export const STREAM_CREDITS = 32

/** The outcome of a request that has generated nothing. */
export const NO_REPLY: Outcome = Object.freeze({
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

/** The worker's end. */
export interface Outlet {
  /** Aborts when the reader cancels. */
  readonly signal: AbortSignal
  /**
   * Sends a chunk. The promise resolves when the next one may be sent, which is immediately as long as there
   * is credit.
   */
  send(chunk: TextChunk): Promise<void> | undefined
  prefill(progress: PrefillProgress): void
  end(outcome: Outcome, contextUsed: number): void
  fail(thrown: unknown): void
  /** Ends the stream as if the reader had cancelled. */
  cancel(): void
}

export function openOutlet(port: MessagePort): Outlet {
  const abort = new AbortController()
  const { signal } = abort
  let credits = STREAM_CREDITS
  let wake: (() => void) | undefined
  const { chunk, prefill, end, fail } = reportingSink((report) => {
    port.postMessage(report)
    if (isLast(report)) port.close()
  })
  const cancel = () => {
    abort.abort()
    wake?.()
  }
  port.onmessage = ({ data }: MessageEvent<StreamCommand>) => {
    if (data.type === 'credit') credits += data.count
    else cancel()
    if (credits > 0) wake?.()
  }
  port.onmessageerror = cancel
  return {
    signal,
    send(piece) {
      chunk(piece)
      credits -= 1
      if (credits > 0 || signal.aborted) return undefined
      return new Promise((resolve) => {
        wake = resolve
      })
    },
    prefill,
    end,
    fail,
    cancel,
  }
}

/** True for the report that ends a stream. */
export const isLast = ({ type }: StreamReport): boolean => type === 'end' || type === 'failed'

/** The receiver of a generation's reports: progress and any number of chunks, then one `end` or `fail`. */
export interface Sink {
  prefill(progress: PrefillProgress): void
  chunk(chunk: TextChunk): void
  end(outcome: Outcome, contextUsed: number): void
  fail(error: unknown): void
}

/** The reader's end: commands to the worker. They do nothing after the end. */
export interface Feed {
  credit(count: number): void
  cancel(): void
}

/** A feed whose commands are passed to `post`. */
export const feedOf = (post: (command: StreamCommand) => void): Feed => ({
  credit: (count) => post({ type: 'credit', count }),
  cancel: () => post({ type: 'cancel' }),
})

/** Passes a report to `sink`. */
export function pass(report: StreamReport, sink: Sink): void {
  if (report.type === 'chunk') sink.chunk(report.chunk)
  else if (report.type === 'prefill') sink.prefill(report.progress)
  else if (report.type === 'end') sink.end(report.outcome, report.contextUsed)
  else sink.fail(fromFailure(report.failure))
}

/** A sink that turns each call into a report. */
export const reportingSink = (post: (report: StreamReport) => void): Sink => ({
  prefill: (progress) => post({ type: 'prefill', progress }),
  chunk: (chunk) => post({ type: 'chunk', chunk }),
  end: (outcome, contextUsed) => post({ type: 'end', outcome, contextUsed }),
  fail: (error) => post({ type: 'failed', failure: toFailure(error) }),
})

/** Forwards messages from `port` to `sink`. */
export function openFeed(port: MessagePort, sink: Sink): Feed {
  port.onmessage = ({ data }: MessageEvent<StreamReport>) => {
    if (isLast(data)) port.close()
    pass(data, sink)
  }
  port.onmessageerror = () => {
    port.close()
    sink.fail(new HalfbyteError('internal', 'a part of the reply could not be read; ask again'))
  }
  return feedOf((command) => port.postMessage(command))
}
