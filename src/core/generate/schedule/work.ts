// The scheduler's view of a request: its sequences, its rows in the step, and the consumer of their logits.

import type { Sequence } from './sequence.ts'
import type { RowsView } from './step-buffer.ts'
import type { StepCost } from './step-cost.ts'

export interface ForwardRequest {
  /** Already contains the tokens to process. */
  readonly sequence: Sequence
  /** Positions whose logits are passed on. Default `last`. */
  readonly logits?: 'all' | 'last' | undefined
  /** `hidden`: the last norm's output at a position, for which no logits are computed. Default `logits`. */
  readonly output?: 'logits' | 'hidden' | undefined
  /** Default `foreground`. */
  readonly priority?: Priority | undefined
  /** The view is valid during the call only. */
  readonly onLogits: (position: number, logits: Float32Array) => void
  /** Called after each step that has run a part of the tokens, unless it was the last part. */
  readonly onPrefill?: OnPrefill | undefined
  readonly signal?: AbortSignal | undefined
}

/** Called with the number of tokens run so far, and of all tokens to run; neither counts cached ones. */
export type OnPrefill = (progress: { readonly tokens: number; readonly total: number }) => void

/** Reports the progress of a sequence that began with `cached` stored tokens. */
export const tellPrefill = (sequence: Sequence, cached: number, onPrefill: OnPrefill | undefined): void =>
  onPrefill?.({ tokens: sequence.cached - cached, total: sequence.tokens.length - cached })

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
  readonly #onPrefill: OnPrefill | undefined
  readonly #cached: number
  readonly #settle: Settle<void>

  constructor(request: ForwardRequest, settle: Settle<void>) {
    this.#lane = lane(request.sequence)
    this.lanes = [this.#lane]
    this.priority = request.priority ?? 'foreground'
    this.logits = request.logits ?? 'last'
    this.output = request.output ?? 'logits'
    this.signal = request.signal
    this.#onLogits = request.onLogits
    this.#onPrefill = request.onPrefill
    this.#cached = request.sequence.cached
    this.#settle = settle
  }

  draft(): void {}

  take(view: RowsView): Answer {
    const { sequence, rows, firstLogits } = this.#lane
    const end = sequence.cached
    const isWhole = end === sequence.tokens.length
    if (!isWhole) tellPrefill(sequence, this.#cached, this.#onPrefill)
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

/**
 * `background` yields to `foreground`: it may slow running foreground work by at most a twentieth. Work of
 * the same priority takes turns.
 */
export type Priority = 'foreground' | 'background'

/** One sequence's part in the step being assembled. */
export interface Lane {
  readonly sequence: Sequence
  /** Number of the sequence's rows in the step; 0 if it has none. */
  rows: number
  /** Index of the sequence's first logits row in the step. */
  firstLogits: number
}

/** One request in the scheduler. */
export interface Work {
  /** One sequence, or two for guidance. The last rows of the two are always in the same step. */
  readonly lanes: readonly Lane[]
  readonly priority: Priority
  readonly signal: AbortSignal | undefined
  /** `all`: logits of every row. `last`: logits of the last token and of each draft after it. */
  readonly logits: 'all' | 'last'
  /** What `take` receives for a row: its logits, or the hidden state before them. */
  readonly output: 'logits' | 'hidden'
  /** True if the prompts have been processed, so that this work's rows should not wait for others. */
  readonly decoding: boolean
  /** Drafted ids that each lane's rows verify in this step, after the lane's tokens. */
  readonly drafts: ArrayLike<number>
  /** Number of drafts in this step. */
  drafted: number
  /** True while the consumer is not ready; the work is then not scheduled. */
  waiting: boolean
  /** True if the work could run but was not in the previous step, so that it goes first. */
  passedOver: boolean
  /**
   * Drafts ids for the step being assembled. Sets `drafted` to the number that is worth its rows, at most
   * `most`.
   */
  draft(most: number, step: BareStep, cost: StepCost): void
  /** Receives the output of the work's rows. The sequences have already advanced. */
  take(rows: RowsView, now: number): Answer
  /** Called after a step that included this work, which ran from `start` to `end`. */
  observe(start: number, end: number): void
  /** Called when the consumer is ready again. */
  resume(now: number): void
  resolve(): void
  reject(error: unknown): void
}

/** The step without one work's drafts. */
export interface BareStep {
  rows: number
  /** Tokens that the step is certain to produce. */
  tokens: number
}

/** What `take` returns: continue, end, or continue when the consumer is ready. */
export type Answer = 'more' | 'done' | Promise<void>

export interface Settle<Result> {
  resolve(result: Result): void
  reject(error: unknown): void
}

export const lane = (sequence: Sequence): Lane => ({ sequence, rows: 0, firstLogits: 0 })

/** Number of tokens that a lane has not processed yet. */
export const lacking = ({ sequence }: Lane): number => sequence.tokens.length - sequence.cached

/** True if the work has rows in the step being assembled. */
export const isChosen = ({ lanes }: Work): boolean => lanes[0]!.rows > 0 || (lanes[1]?.rows ?? 0) > 0

export const NO_DRAFTS: ArrayLike<number> = new Int32Array(0)
