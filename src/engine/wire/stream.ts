// The two ends of a reply's port: an outlet that waits for credit, and a feed that passes chunks on.
import { HalfbyteError } from '../../base/errors.ts'
import { fromFailure, toFailure } from './failure.ts'
import type { Outcome, StreamCommand, StreamReport, TextChunk } from './protocol.ts'

/** Number of chunks that a stream may be ahead of its reader. */
export const STREAM_CREDITS = 32

/** The worker's end. */
export interface Outlet {
  /** Aborts when the reader cancels. */
  readonly signal: AbortSignal
  /** Sends a chunk. The promise resolves when the next may be sent: at once while there is credit. */
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
  const post = (report: StreamReport) => port.postMessage(report)
  const close = (report: StreamReport) => {
    post(report)
    port.close()
  }
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
    send(chunk) {
      post({ type: 'chunk', chunk })
      credits -= 1
      if (credits > 0 || signal.aborted) return undefined
      return new Promise((resolve) => {
        wake = resolve
      })
    },
    end: (outcome, contextUsed) => close({ type: 'end', outcome, contextUsed }),
    fail: (thrown) => close({ type: 'failed', failure: toFailure(thrown) }),
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

/** Passes what arrives on `port` to `sink`. */
export function openFeed(port: MessagePort, sink: Sink): Feed {
  const post = (command: StreamCommand) => port.postMessage(command)
  port.onmessage = ({ data }: MessageEvent<StreamReport>) => {
    if (data.type === 'chunk') return sink.chunk(data.chunk)
    port.close()
    if (data.type === 'end') sink.end(data.outcome, data.contextUsed)
    else sink.fail(fromFailure(data.failure))
  }
  port.onmessageerror = () => {
    port.close()
    sink.fail(new HalfbyteError('internal', 'a part of the reply could not be read; ask again'))
  }
  return { credit: (count) => post({ type: 'credit', count }), cancel: () => post({ type: 'cancel' }) }
}
