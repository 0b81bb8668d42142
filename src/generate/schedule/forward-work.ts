// Forward work. In: a sequence with tokens to run. Out: their logits, passed to the caller. Generates
// nothing.
import type { RowsView } from './rows-view.ts'
import type { Sequence } from './sequence.ts'
import { type Answer, type Lane, lane, NO_DRAFTS, type Priority, type Settle, type Work } from './work.ts'

export interface ForwardRequest {
  /** Already holds the tokens to run. */
  readonly sequence: Sequence
  /** Positions whose logits are passed on. Default `last`. */
  readonly logits?: 'all' | 'last' | undefined
  /** `hidden`: the last norm's output for a position; no logits are computed for it. Default `logits`. */
  readonly output?: 'logits' | 'hidden' | undefined
  /** Default `foreground`. */
  readonly priority?: Priority | undefined
  /** The view is valid during the call only. */
  readonly onLogits: (position: number, logits: Float32Array) => void
  readonly signal?: AbortSignal | undefined
}

/** Runs a sequence's tokens and passes on their logits. */
export class ForwardWork implements Work {
  readonly lanes: readonly Lane[]
  readonly priority: Priority
  readonly logits: 'all' | 'last'
  readonly output: 'logits' | 'hidden'
  readonly signal: AbortSignal | undefined
  readonly decoding = false
  readonly drafts = NO_DRAFTS
  drafted = 0
  waiting = false
  passedOver = false
  readonly #lane: Lane
  readonly #onLogits: ForwardRequest['onLogits']
  readonly #settle: Settle<void>

  constructor(request: ForwardRequest, settle: Settle<void>) {
    this.#lane = lane(request.sequence)
    this.lanes = [this.#lane]
    this.priority = request.priority ?? 'foreground'
    this.logits = request.logits ?? 'last'
    this.output = request.output ?? 'logits'
    this.signal = request.signal
    this.#onLogits = request.onLogits
    this.#settle = settle
  }

  draft(): void {}

  take(view: RowsView): Answer {
    const { sequence, rows, firstLogits } = this.#lane
    const end = sequence.cached
    const isWhole = end === sequence.tokens.length
    const first = this.logits === 'all' ? end - rows : end - 1
    if (this.logits === 'last' && !isWhole) return 'more'
    for (let position = first; position < end; position++) {
      this.#onLogits(position, view.row(firstLogits + position - first))
    }
    return isWhole ? 'done' : 'more'
  }

  observe(): void {}

  resume(): void {}

  resolve(): void {
    this.#settle.resolve()
  }

  reject(error: unknown): void {
    this.#settle.reject(error)
  }
}
