// Work. In: logits of a sequence's rows. Out: what is done with them: a next token, or a look by the caller.
import type { Sequence } from './sequence.ts'

/** Picks the next id from a row of logits, which it may scribble on; `history` holds every token so far. */
export interface TokenSampler {
  sample(logits: Float32Array, history: ArrayLike<number>): number
}

/** What a consumer of tokens answers: nothing to go on, `stop` to end, a promise to be waited for before the next token. */
export type TokenAnswer = undefined | 'stop' | Promise<void>

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
}

/** One request in the scheduler. */
export interface Work {
  readonly sequence: Sequence
  readonly signal: AbortSignal | undefined
  /** Logits of every row, or of the last one that is not run yet. */
  readonly logits: 'all' | 'last'
  /** What `take` is shown of a row: its logits, or the hidden state they would be made of. */
  readonly output: 'logits' | 'hidden'
  /** Rows of the step that is being made; 0: not in it. */
  rows: number
  /** Index of its first logits in that step. */
  firstLogits: number
  /** Not to be scheduled until the consumer is ready. */
  waiting: boolean
  /** Takes one row's logits; `position` is the row's. Returns true when the work is done, or a promise to wait for. */
  take(position: number, logits: Float32Array, now: number): boolean | Promise<void>
  /** A step that it was in took from `start` to `end`. */
  observe(start: number, end: number): void
  /** The consumer is ready again. */
  resume(now: number): void
  resolve(): void
  reject(error: unknown): void
}

interface Settle<Result> {
  resolve(result: Result): void
  reject(error: unknown): void
}

export interface GenerateRequest {
  /** Holds the prompt already. */
  readonly sequence: Sequence
  readonly sampler: TokenSampler
  /** Default: until the context is full. */
  readonly maxTokens?: number | undefined
  /** Ids that end the text; they are kept in the sequence but not handed out. Default: none. */
  readonly stopTokens?: ReadonlySet<number> | undefined
  /** Called for each token as it is picked. */
  readonly onToken?: ((id: number) => TokenAnswer) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface GenerateOutcome {
  /** `stop`: a stop token or the consumer; `length`: maxTokens or the context length. */
  readonly reason: 'stop' | 'length'
  readonly timings: WorkTimings
}

export class GenerateWork implements Work {
  readonly logits = 'last'
  readonly output = 'logits'
  readonly sequence: Sequence
  readonly signal: AbortSignal | undefined
  rows = 0
  firstLogits = 0
  waiting = false
  readonly #request: GenerateRequest
  readonly #settle: Settle<GenerateOutcome>
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
    const { sequence, maxTokens } = request
    this.#request = request
    this.#settle = settle
    this.#start = now
    this.sequence = sequence
    this.signal = request.signal
    this.#promptTokens = sequence.tokens.length
    this.#cachedTokens = sequence.cached
    this.#most = Math.min(maxTokens ?? Number.POSITIVE_INFINITY, sequence.contextLength - this.#promptTokens)
  }

  // hot
  take(_position: number, logits: Float32Array, now: number): boolean | Promise<void> {
    if (this.#most <= 0) return true
    const { sequence } = this
    const id = this.#request.sampler.sample(logits, sequence.tokens)
    sequence.append(id)
    if (this.#firstTokenMs === undefined) this.#firstTokenMs = now - this.#start
    else this.#decodeMs += now - this.#mark
    this.#mark = now
    if (this.#request.stopTokens?.has(id) === true) {
      this.#reason = 'stop'
      return true
    }
    this.#generated++
    const answer = this.#request.onToken?.(id)
    if (answer === 'stop') this.#reason = 'stop'
    return answer === 'stop' || this.#generated >= this.#most ? true : (answer ?? false)
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
      },
    })
  }

  reject(error: unknown): void {
    this.#settle.reject(error)
  }
}

export interface ForwardRequest {
  /** Holds the tokens to run already. */
  readonly sequence: Sequence
  /** Which positions' logits are looked at; default `last`. */
  readonly logits?: 'all' | 'last' | undefined
  /** Default `logits`. `hidden`: what the last norm makes of a position, and no logits are computed for it. */
  readonly output?: 'logits' | 'hidden' | undefined
  /** The view is valid during the call only. */
  readonly onLogits: (position: number, logits: Float32Array) => void
  readonly signal?: AbortSignal | undefined
}

/** Runs a sequence's tokens and shows their logits; generates nothing. */
export class ForwardWork implements Work {
  readonly sequence: Sequence
  readonly logits: 'all' | 'last'
  readonly output: 'logits' | 'hidden'
  readonly signal: AbortSignal | undefined
  rows = 0
  firstLogits = 0
  waiting = false
  readonly #onLogits: ForwardRequest['onLogits']
  readonly #settle: Settle<void>

  constructor(request: ForwardRequest, settle: Settle<void>) {
    this.sequence = request.sequence
    this.logits = request.logits ?? 'last'
    this.output = request.output ?? 'logits'
    this.signal = request.signal
    this.#onLogits = request.onLogits
    this.#settle = settle
  }

  take(position: number, logits: Float32Array): boolean {
    this.#onLogits(position, logits)
    return position + 1 === this.sequence.tokens.length
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
