// Work. In: one request's sequences. Out: what the scheduler knows of it: its rows of a step, and what it does with their logits.
import type { RowsView } from './rows-view.ts'
import type { Sequence } from './sequence.ts'
import type { StepCost } from './step-cost.ts'

/**
 * `background` gives way to `foreground`: while any of that runs, it gets what slows the others by a twentieth.
 * Within a priority all take turns.
 */
export type Priority = 'foreground' | 'background'

/** One sequence's part in the step that is being made. */
export interface Lane {
  readonly sequence: Sequence
  /** Rows of that step; 0: not in it. */
  rows: number
  /** Index of its first logits in that step. */
  firstLogits: number
}

/** One request in the scheduler. */
export interface Work {
  /** Two for guidance, whose last rows are always in one step; else one. */
  readonly lanes: readonly Lane[]
  readonly priority: Priority
  readonly signal: AbortSignal | undefined
  /** Logits of every row, or of the last ones: that of the last token, and of each draft behind it. */
  readonly logits: 'all' | 'last'
  /** What `take` is shown of a row: its logits, or the hidden state they would be made of. */
  readonly output: 'logits' | 'hidden'
  /** The prompts have been run: rows of this work are what others must not keep waiting. */
  readonly decoding: boolean
  /** Ids that each lane's rows of this step try beyond its tokens. */
  readonly drafts: ArrayLike<number>
  /** How many of them are in this step. */
  drafted: number
  /** Not to be scheduled until the consumer is ready. */
  waiting: boolean
  /** Runnable but not in the step before: its turn comes first. */
  passedOver: boolean
  /** Makes up ids for the step that is being made and sets `drafted` to how many, at most `most`, are worth their rows. */
  draft(most: number, step: BareStep, cost: StepCost): void
  /** Takes the output of its rows; its sequences have advanced. */
  take(rows: RowsView, now: number): Answer
  /** A step that it was in took from `start` to `end`. */
  observe(start: number, end: number): void
  /** The consumer is ready again. */
  resume(now: number): void
  resolve(): void
  reject(error: unknown): void
}

/** A step as it is without the drafts of one work. */
export interface BareStep {
  rows: number
  /** Tokens that it is sure to bring. */
  tokens: number
}

/** Of a work that took its logits: it goes on, has ended, or goes on when its consumer is ready. */
export type Answer = 'more' | 'done' | Promise<void>

export interface Settle<Result> {
  resolve(result: Result): void
  reject(error: unknown): void
}

export const lane = (sequence: Sequence): Lane => ({ sequence, rows: 0, firstLogits: 0 })

/** Tokens that a lane has not run. */
export const lacking = ({ sequence }: Lane): number => sequence.tokens.length - sequence.cached

/** It has rows in the step that is being made. */
export const isChosen = ({ lanes }: Work): boolean => lanes[0]!.rows > 0 || (lanes[1]?.rows ?? 0) > 0

export const NO_DRAFTS: ArrayLike<number> = new Int32Array(0)
