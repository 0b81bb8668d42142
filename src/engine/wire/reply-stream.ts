// The two ends of a reply's port: an outlet that waits for credit, and a feed that passes chunks on.
import { HalfbyteError } from '../../core/base/errors.ts'
import type { Outcome, TextChunk } from '../types/reply.ts'
import type { StreamCommand, StreamReport } from './protocol.ts'
import { fromFailure, toFailure } from './wire-failure.ts'

/** Number of chunks that a stream may be ahead of its reader. */
export const STREAM_CREDITS = 32

/** The worker's end. */
export interface Outlet {
  /** Aborts when the reader cancels. */
  readonly signal: AbortSignal
  /**
   * Sends a chunk. The promise resolves when the next one may be sent, which is immediately as long as there
   * is credit.
   */
  send(chunk: TextChunk): Promise<void> | undefined
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
  const { chunk, end, fail } = reportingSink((report) => {
    port.postMessage(report)
    if (report.type !== 'chunk') port.close()
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
    end,
    fail,
    cancel,
  }
}

/** The receiver of a generation's reports: any number of chunks, then one `end` or `fail`. */
export interface Sink {
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
  else if (report.type === 'end') sink.end(report.outcome, report.contextUsed)
  else sink.fail(fromFailure(report.failure))
}

/** A sink that turns each call into a report. */
export const reportingSink = (post: (report: StreamReport) => void): Sink => ({
  chunk: (chunk) => post({ type: 'chunk', chunk }),
  end: (outcome, contextUsed) => post({ type: 'end', outcome, contextUsed }),
  fail: (error) => post({ type: 'failed', failure: toFailure(error) }),
})

/** Forwards messages from `port` to `sink`. */
export function openFeed(port: MessagePort, sink: Sink): Feed {
  port.onmessage = ({ data }: MessageEvent<StreamReport>) => {
    if (data.type !== 'chunk') port.close()
    pass(data, sink)
  }
  port.onmessageerror = () => {
    port.close()
    sink.fail(new HalfbyteError('internal', 'a part of the reply could not be read; ask again'))
  }
  return feedOf((command) => port.postMessage(command))
}
