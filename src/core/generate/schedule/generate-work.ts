// Generates a reply: samples one or more tokens from each step, with an optional guide and drafts.

import type { Sequence } from './sequence.ts'
import { type Drafter, Speculation } from './speculation.ts'
import type { RowsView } from './step-buffer.ts'
import type { StepCost } from './step-cost.ts'
import {
  type Answer,
  type BareStep,
  type Lane,
  lane,
  NO_DRAFTS,
  type OnPrefill,
  type Priority,
  type Settle,
  tellPrefill,
  type Work,
} from './work.ts'

/**
 * Picks the next id from a row of logits, which it may overwrite. The first `length` entries of `history` are
 * all tokens so far. `guide`: the same row of the negative prompt, for classifier-free guidance.
 */
interface TokenSampler {
  sample(
    logits: Float32Array,
    history: ArrayLike<number>,
    length?: number,
    guide?: Float32Array | undefined,
  ): number
}

/**
 * What a token consumer returns: undefined to continue, `stop` to end, or a promise to wait for before the
 * next token.
 */
export type TokenAnswer = undefined | 'stop' | Promise<void>

export interface SequenceRequest {
  /** Already contains the prompt. */
  readonly sequence: Sequence
  /**
   * A sequence that already contains the negative prompt. The sampler reads its logits too, and every token
   * is added to both sequences. Default: none.
   */
  readonly guide?: Sequence | undefined
  readonly sampler: TokenSampler
  /**
   * Draft tokens that are verified in one step, those of one drafter at a time. The text is the same with and
   * without them. Those whose drafts cost time come last. Default: none.
   */
  readonly drafters?: readonly Drafter[] | undefined
  /** Default `foreground`. */
  readonly priority?: Priority | undefined
  /** Maximum number of tokens to generate. Default: until the context is full. */
  readonly maxTokens?: number | undefined
  /** Ids that end the text. They stay in the sequence but are not passed to the consumer. Default: none. */
  readonly stopTokens?: ReadonlySet<number> | undefined
  /** Called after each step that has read a part of the prompt, unless it was the last part. */
  readonly onPrefill?: OnPrefill | undefined
  /** Called for each token as it is picked. */
  readonly onToken?: ((id: number) => TokenAnswer) | undefined
  /** Called with the stop token that ends the text when it is picked. */
  readonly onStop?: ((id: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Counts are in tokens, times in milliseconds. */
export interface WorkTimings {
  /** From the request to the first token, or to the end if there is none, including waits for other work. */
  readonly firstTokenMs: number
  /** Time of the steps that processed tokens of the prompt. */
  readonly prefillMs: number
  /** From the first token to the last, excluding time spent waiting for the consumer. */
  readonly decodeMs: number
  readonly promptTokens: number
  /** Tokens of the prompt that were not processed because their state was cached. */
  readonly cachedTokens: number
  readonly generatedTokens: number
  /** Drafts that were verified, and drafts that became tokens. */
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
  readonly #request: SequenceRequest
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
  /** When the last token was picked, or the consumer became ready again. */
  #mark = 0

  constructor(request: SequenceRequest, settle: Settle<GenerateOutcome>, now: number) {
    const { sequence, guide, drafters = [], maxTokens, stopTokens } = request
    this.#request = request
    this.#settle = settle
    this.#start = now
    this.#lane = lane(sequence)
    this.#guide = guide && lane(guide)
    this.lanes = this.#guide === undefined ? [this.#lane] : [this.#lane, this.#guide]
    this.priority = request.priority ?? 'foreground'
    this.signal = request.signal
    this.#speculation = drafters.length > 0 ? new Speculation(drafters, stopTokens) : undefined
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
    // One more token is picked after the last draft.
    const wanted = Math.min(most, this.#most - this.#generated - 1)
    const { tokens } = this.#lane.sequence
    this.drafted = this.#speculation.draft(tokens, wanted, this.lanes.length, step, cost)
  }

  // hot
  take(logits: RowsView, now: number): Answer {
    const { sequence } = this.#lane
    // Drafts count as run tokens until they have been compared.
    if (sequence.cached < sequence.tokens.length) {
      if (!this.decoding) tellPrefill(sequence, this.#cachedTokens, this.#request.onPrefill)
      return 'more'
    }
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

  /** Samples row by row. A row counts if the draft before it equals the sampled token. */
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
    const { sampler, stopTokens, onToken, onStop } = this.#request
    const { tokens } = this.#lane.sequence
    const own = logits.row(this.#lane.firstLogits + row)
    const guide = this.#guide && logits.row(this.#guide.firstLogits + row)
    const id = sampler.sample(own, tokens, tokens.length, guide)
    for (let index = 0; index < this.lanes.length; index++) this.lanes[index]!.sequence.append(id)
    if (this.#firstTokenMs === undefined) this.#firstTokenMs = now - this.#start
    else this.#decodeMs += now - this.#mark
    this.#mark = now
    if (stopTokens?.has(id) === true) {
      onStop?.(id)
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
