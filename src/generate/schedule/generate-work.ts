// Generate work. In: a prompt in a sequence, a sampler, perhaps a guide and a drafter. Out: tokens, one or more per step.

import { type Drafter, Speculation } from '../speculate/speculation.ts'
import type { RowsView } from './rows-view.ts'
import type { Sequence } from './sequence.ts'
import type { StepCost } from './step-cost.ts'
import {
  type Answer,
  type BareStep,
  type Lane,
  lane,
  NO_DRAFTS,
  type Priority,
  type Settle,
  type Work,
} from './work.ts'

/**
 * Picks the next id from a row of logits, which it may scribble on; `history` holds every token so far, up to `length`.
 * `guide`: the same row of the negative prompt, for classifier-free guidance.
 */
export interface TokenSampler {
  sample(
    logits: Float32Array,
    history: ArrayLike<number>,
    length?: number,
    guide?: Float32Array | undefined,
  ): number
}

/** What a consumer of tokens answers: nothing to go on, `stop` to end, a promise to be waited for before the next token. */
export type TokenAnswer = undefined | 'stop' | Promise<void>

export interface GenerateRequest {
  /** Holds the prompt already. */
  readonly sequence: Sequence
  /** Holds a negative prompt already: its logits go to the sampler too, and every token is added to both. Default: none. */
  readonly guide?: Sequence | undefined
  readonly sampler: TokenSampler
  /** Makes up tokens that are checked in one step. The text is the same with and without. Default: none. */
  readonly drafter?: Drafter | undefined
  /** Default `foreground`. */
  readonly priority?: Priority | undefined
  /** Default: until the context is full. */
  readonly maxTokens?: number | undefined
  /** Ids that end the text; they are kept in the sequence but not handed out. Default: none. */
  readonly stopTokens?: ReadonlySet<number> | undefined
  /** Called for each token as it is picked. */
  readonly onToken?: ((id: number) => TokenAnswer) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Counts are tokens, times are milliseconds. */
export interface WorkTimings {
  /** From the request to the first token or the end, waiting for others included. */
  readonly firstTokenMs: number
  /** Steps that ran tokens of the prompt. */
  readonly prefillMs: number
  /** From the first token to the last, without the time in which the consumer made it wait. */
  readonly decodeMs: number
  readonly promptTokens: number
  /** Tokens of the prompt that were not run because their state was there. */
  readonly cachedTokens: number
  readonly generatedTokens: number
  /** Drafts that were checked, and those of them that became tokens. */
  readonly draftedTokens: number
  readonly acceptedTokens: number
}

export interface GenerateOutcome {
  /** `stop`: a stop token or the consumer; `length`: maxTokens or the context length. */
  readonly reason: 'stop' | 'length'
  readonly timings: WorkTimings
}

export class GenerateWork implements Work {
  readonly lanes: readonly Lane[]
  readonly priority: Priority
  readonly logits = 'last'
  readonly output = 'logits'
  readonly signal: AbortSignal | undefined
  readonly drafts: ArrayLike<number>
  drafted = 0
  waiting = false
  passedOver = false
  readonly #request: GenerateRequest
  readonly #settle: Settle<GenerateOutcome>
  readonly #lane: Lane
  readonly #guide: Lane | undefined
  readonly #speculation: Speculation | undefined
  readonly #most: number
  readonly #start: number
  readonly #promptTokens: number
  readonly #cachedTokens: number
  #reason: 'stop' | 'length' = 'length'
  #generated = 0
  #firstTokenMs: number | undefined
  #prefillMs = 0
  #decodeMs = 0
  /** When the last token was picked, or the consumer was ready again. */
  #mark = 0

  constructor(request: GenerateRequest, settle: Settle<GenerateOutcome>, now: number) {
    const { sequence, guide, drafter, maxTokens, stopTokens } = request
    this.#request = request
    this.#settle = settle
    this.#start = now
    this.#lane = lane(sequence)
    this.#guide = guide && lane(guide)
    this.lanes = this.#guide === undefined ? [this.#lane] : [this.#lane, this.#guide]
    this.priority = request.priority ?? 'foreground'
    this.signal = request.signal
    this.#speculation = drafter && new Speculation(drafter, stopTokens)
    this.drafts = this.#speculation?.ids ?? NO_DRAFTS
    this.#promptTokens = sequence.tokens.length
    this.#cachedTokens = sequence.cached
    const room = this.lanes.map(({ sequence: { room } }) => room)
    this.#most = Math.min(maxTokens ?? Number.POSITIVE_INFINITY, ...room)
  }

  get decoding(): boolean {
    return this.#firstTokenMs !== undefined
  }

  // hot
  draft(most: number, step: BareStep, cost: StepCost): void {
    if (this.#speculation === undefined) return
    // The token behind the last draft is picked too.
    const wanted = Math.min(most, this.#most - this.#generated - 1)
    const { tokens } = this.#lane.sequence
    this.drafted = this.#speculation.draft(tokens, wanted, this.lanes.length, step, cost)
  }

  // hot
  take(logits: RowsView, now: number): Answer {
    const { sequence } = this.#lane
    // Drafts count as run until they have been compared.
    if (sequence.cached < sequence.tokens.length) return 'more'
    if (this.#most <= 0) return 'done'
    if (this.drafted === 0) {
      const answer = this.#pick(0, logits, now)
      this.#speculation?.observe(sequence.tokens, 1, 0)
      return answer
    }
    const before = sequence.tokens.length
    try {
      return this.#verify(logits, now)
    } finally {
      const picked = sequence.tokens.length - before
      this.#speculation?.observe(sequence.tokens, picked, this.drafted)
      for (let index = 0; index < this.lanes.length; index++) this.lanes[index]!.sequence.endDrafts()
    }
  }

  /** Samples row by row; a row counts when the draft before it was what had been sampled. */
  #verify(logits: RowsView, now: number): Answer {
    const { tokens } = this.#lane.sequence
    for (let row = 0; ; row++) {
      const answer = this.#pick(row, logits, now)
      if (answer !== 'more' || row === this.drafted || tokens[tokens.length - 1] !== this.drafts[row]) {
        return answer
      }
    }
  }

  #pick(row: number, logits: RowsView, now: number): Answer {
    const { sampler, stopTokens, onToken } = this.#request
    const { tokens } = this.#lane.sequence
    const own = logits.row(this.#lane.firstLogits + row)
    const guide = this.#guide && logits.row(this.#guide.firstLogits + row)
    const id = sampler.sample(own, tokens, tokens.length, guide)
    for (let index = 0; index < this.lanes.length; index++) this.lanes[index]!.sequence.append(id)
    if (this.#firstTokenMs === undefined) this.#firstTokenMs = now - this.#start
    else this.#decodeMs += now - this.#mark
    this.#mark = now
    if (stopTokens?.has(id) === true) {
      this.#reason = 'stop'
      return 'done'
    }
    this.#generated++
    const answer = onToken?.(id)
    if (answer === 'stop') this.#reason = 'stop'
    return answer === 'stop' || this.#generated >= this.#most ? 'done' : (answer ?? 'more')
  }

  observe(start: number, end: number): void {
    if (this.#firstTokenMs === undefined) this.#prefillMs += end - start
  }

  resume(now: number): void {
    this.#mark = now
  }

  resolve(): void {
    this.#settle.resolve({
      reason: this.#reason,
      timings: {
        firstTokenMs: this.#firstTokenMs ?? this.#prefillMs,
        prefillMs: this.#prefillMs,
        decodeMs: this.#decodeMs,
        promptTokens: this.#promptTokens,
        cachedTokens: this.#cachedTokens,
        generatedTokens: this.#generated,
        draftedTokens: this.#speculation?.drafted ?? 0,
        acceptedTokens: this.#speculation?.accepted ?? 0,
      },
    })
  }

  reject(error: unknown): void {
    this.#settle.reject(error)
  }
}
