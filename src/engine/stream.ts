// Streams. In: a port. Out: its two ends: an outlet that waits for credit, a feed that hands chunks to a sink.
import { fromFailure, toFailure } from './failure.ts'
import type { Outcome, StreamCommand, StreamReport, TextChunk } from './protocol.ts'

/** Chunks that a stream may be ahead of its reader. */
export const STREAM_CREDITS = 32

/** The worker's end. */
export class Outlet {
  readonly #port: MessagePort
  readonly #abort = new AbortController()
  #credits = STREAM_CREDITS
  #wake: (() => void) | undefined

  constructor(port: MessagePort) {
    this.#port = port
    port.onmessage = ({ data }: MessageEvent<StreamCommand>) => this.#take(data)
  }

  /** Aborted when the reader cancels. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Sends a chunk; the result resolves when the next may come, at once while there is credit. */
  send(chunk: TextChunk): Promise<void> | undefined {
    this.#post({ type: 'chunk', chunk })
    this.#credits -= 1
    if (this.#credits > 0 || this.signal.aborted) return undefined
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  end(outcome: Outcome, contextUsed: number): void {
    this.#post({ type: 'end', outcome, contextUsed })
    this.#port.close()
  }

  fail(thrown: unknown): void {
    this.#post({ type: 'failed', failure: toFailure(thrown) })
    this.#port.close()
  }

  /** As if the reader had cancelled. */
  cancel(): void {
    this.#abort.abort()
    this.#wake?.()
  }

  #take(command: StreamCommand): void {
    if (command.type === 'credit') this.#credits += command.count
    else this.cancel()
    if (this.#credits > 0) this.#wake?.()
  }

  #post(report: StreamReport): void {
    this.#port.postMessage(report)
  }
}

/** Where a generation's reports end up: any number of chunks, then `end` or `fail` once. */
export interface Sink {
  chunk(chunk: TextChunk): void
  end(outcome: Outcome, contextUsed: number): void
  fail(error: unknown): void
}

/** The reader's end: what it may ask of the worker. Harmless after the end. */
export interface Feed {
  credit(count: number): void
  cancel(): void
}

/** Hands what arrives on `port` to `sink`. */
export function openFeed(port: MessagePort, sink: Sink): Feed {
  const post = (command: StreamCommand) => port.postMessage(command)
  port.onmessage = ({ data }: MessageEvent<StreamReport>) => {
    if (data.type === 'chunk') return sink.chunk(data.chunk)
    port.close()
    if (data.type === 'end') sink.end(data.outcome, data.contextUsed)
    else sink.fail(fromFailure(data.failure))
  }
  return { credit: (count) => post({ type: 'credit', count }), cancel: () => post({ type: 'cancel' }) }
}
