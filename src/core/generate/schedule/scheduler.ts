// The scheduler: combines all requests into steps, and runs the plan once per step.

import { HalfbyteError } from '../../base/errors.ts'
import { steadyClock } from '../../base/time/clocks.ts'
import { type AsyncPool, disposedError, type Pool } from '../../runtime/pool.ts'
import { type GenerateOutcome, GenerateWork, type SequenceRequest } from './generate-work.ts'
import { Round } from './round.ts'
import type { RowSource } from './row-source.ts'
import type { Sequence } from './sequence.ts'
import { Slowdown } from './slowdown.ts'
import { RowsView, type StepBuffer, type StepMachine } from './step-buffer.ts'
import { type ForwardRequest, ForwardWork, isChosen, type Lane, type Work } from './work.ts'

interface SchedulerOptions extends Omit<StepMachine, 'pool'> {
  readonly pool: Pool | AsyncPool
  /**
   * Called between steps once they have been slow for a second, because measurements of this machine may be
   * outdated; and at intervals after an earlier call reduced the threads. Resolves to whether there are fewer
   * threads.
   */
  readonly retune?: (() => Promise<boolean>) | undefined
  /** Lets messages and aborts run between steps. */
  readonly yieldTask: () => Promise<void>
}

/** A longer step means that the device slept or the clock jumped. */
const LONGEST_STEP_MS = 10_000

/**
 * Runs all requests together: each step holds the rows that `Round` chose. An error in one request fails
 * only that request, unless the pool itself has died.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #views: Readonly<Record<Work['output'], RowsView>>
  readonly #round: Round
  readonly #slowdown = new Slowdown()
  #isSlow = false
  /** Unfinished requests, longest-waiting first. */
  readonly #line: Work[] = []
  #running = false
  #disposed = false
  /** When the current step began. */
  #started = 0
  #wake: (() => void) | undefined

  constructor(options: SchedulerOptions) {
    this.#options = { ...options, now: steadyClock(options.now) }
    const { arena, plan, written } = options
    this.#views = {
      logits: new RowsView(arena, plan.logits, written),
      hidden: new RowsView(arena, plan.hidden, written),
    }
    this.#round = new Round(options.step, this.#options.now, plan.exchanges.length > 0)
  }

  /** Number of unfinished requests. */
  get pending(): number {
    return this.#line.length
  }

  /**
   * Processes the tokens whose state is missing, then picks tokens until the reply ends. Rejects with the
   * signal's reason within one step of an abort; the sequence keeps the generated tokens. Throws
   * `context-overflow`, `out-of-memory`, `internal` if the pool died, or `disposed`.
   */
  generate(request: SequenceRequest): Promise<GenerateOutcome> {
    return new Promise((resolve, reject) => {
      const { sequence, guide } = request
      this.#admit(guide === undefined ? [sequence] : [sequence, guide], request.signal)
      this.#enqueue(new GenerateWork(request, { resolve, reject }, this.#options.now()))
    })
  }

  /**
   * Processes the tokens whose state is missing and passes the requested logits on. Rejects like `generate`.
   */
  forward(request: ForwardRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#admit([request.sequence], request.signal)
      refuseAll(request, this.#options.step.inputs)
      this.#enqueue(new ForwardWork(request, { resolve, reject }))
    })
  }

  /** True once all requests are rejected. */
  get isOver(): boolean {
    return this.#disposed
  }

  /** Rejects pending requests with `reason` (by default `disposed`) and later requests with `disposed`. */
  dispose(reason: unknown = disposedError()): void {
    this.#disposed = true
    for (const work of [...this.#line]) this.#fail(work, reason)
    this.#wake?.()
  }

  #admit(sequences: readonly Sequence[], signal: AbortSignal | undefined): void {
    signal?.throwIfAborted()
    if (this.#disposed) throw disposedError()
    const { plan, step } = this.#options
    for (const sequence of sequences) checkRunnable(sequence, plan.logits.width, step.inputs)
    const { tokens, logitRows, sequences: most } = step.capacity
    const room = Math.min(tokens, logitRows, most)
    if (sequences.length <= room) return
    throw new HalfbyteError(
      'internal',
      `guidance needs ${sequences.length} rows in a step, but a step has room for ${room}`,
    )
  }

  #enqueue(work: Work): void {
    for (const { sequence } of work.lanes) sequence.busy = true
    this.#line.push(work)
    work.signal?.addEventListener('abort', this.#wakeUp)
    this.#wake?.()
    if (!this.#running) void this.#loop()
  }

  readonly #wakeUp = (): void => this.#wake?.()

  async #loop(): Promise<void> {
    this.#running = true
    try {
      // Yields first, so that the caller can still abort.
      await this.#options.yieldTask()
      while (this.#line.length > 0) {
        this.#dropAborted()
        if (this.#choose() > 0) {
          const running = this.#startStep()
          if (running !== undefined) await running
          this.#endStep()
          if (this.#isSlow) await this.#retune()
        } else if (this.#line.length > 0 && this.#line.every((work) => work.waiting))
          await this.#somethingNew()
        await this.#options.yieldTask()
      }
    } catch (error) {
      this.dispose(error)
    }
    this.#running = false
  }

  #somethingNew(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined
        resolve()
      }
    })
  }

  #dropAborted(): void {
    for (let index = this.#line.length - 1; index >= 0; index--) {
      const work = this.#line[index]!
      if (work.signal?.aborted === true) this.#fail(work, work.signal.reason)
    }
  }

  // hot
  /** Chooses the rows of the next step and allocates their state. Returns their number. */
  #choose(): number {
    this.#round.choose(this.#line)
    let rows = 0
    for (let index = this.#line.length - 1; index >= 0; index--) {
      const work = this.#line[index]!
      try {
        checkInputs(this.#options.step, work)
        rows += reserve(work)
      } catch (error) {
        this.#fail(work, error)
      }
    }
    return rows
  }

  // hot
  /** Returns a promise to await if the step does not end synchronously. */
  #startStep(): void | Promise<void> {
    const { pool, plan, written, step, now } = this.#options
    this.#started = now()
    this.#describe(step)
    return pool.run(written.records, step.step, 0, this.#wantsLogits() ? written.count : plan.hidden.ops)
  }

  #endStep(): void {
    const { step, now } = this.#options
    const start = this.#started
    const end = now()
    const ms = Math.min(end - start, LONGEST_STEP_MS)
    this.#isSlow = this.#allDecode() && this.#slowdown.observe(step.rows, ms)
    this.#round.ran(this.#line, step.rows, ms)
    for (let index = this.#line.length - 1; index >= 0; index--) {
      // A consumer may have disposed the scheduler.
      const work = this.#line[index]
      if (work !== undefined && isChosen(work)) this.#deliver(work, start, end)
    }
  }

  async #retune(): Promise<void> {
    this.#isSlow = false
    this.#slowdown.settle((await this.#options.retune?.()) === true)
  }

  #allDecode(): boolean {
    for (let index = 0; index < this.#line.length; index++) {
      const work = this.#line[index]!
      if (!work.decoding && isChosen(work)) return false
    }
    return true
  }

  #wantsLogits(): boolean {
    for (let index = 0; index < this.#line.length; index++) {
      const work = this.#line[index]!
      if (work.output === 'logits' && isChosen(work)) return true
    }
    return false
  }

  #describe(step: StepBuffer): void {
    step.begin()
    for (let index = 0; index < this.#line.length; index++) {
      const work = this.#line[index]!
      for (let at = 0; at < work.lanes.length; at++) {
        if (work.lanes[at]!.rows > 0) describe(step, work, work.lanes[at]!)
      }
    }
    step.finish()
  }

  #deliver(work: Work, start: number, end: number): void {
    for (let at = 0; at < work.lanes.length; at++) {
      const { sequence, rows } = work.lanes[at]!
      if (rows > 0) sequence.state.advance(rows)
    }
    work.observe(start, end)
    try {
      const answer = work.take(this.#views[work.output], this.#options.now())
      if (answer === 'done') this.#finish(work)
      else if (answer !== 'more') this.#wait(work, answer)
    } catch (error) {
      this.#fail(work, error)
    }
  }

  #wait(work: Work, consumer: Promise<void>): void {
    work.waiting = true
    consumer.then(
      () => {
        work.waiting = false
        work.resume(this.#options.now())
        this.#wake?.()
      },
      (error) => {
        work.waiting = false
        this.#fail(work, error)
        this.#wake?.()
      },
    )
  }

  #finish(work: Work): void {
    if (this.#remove(work)) work.resolve()
  }

  #fail(work: Work, error: unknown): void {
    if (this.#remove(work)) work.reject(error)
  }

  #remove(work: Work): boolean {
    const index = this.#line.indexOf(work)
    if (index < 0) return false
    this.#line.splice(index, 1)
    work.signal?.removeEventListener('abort', this.#wakeUp)
    for (const { sequence } of work.lanes) sequence.busy = false
    return true
  }
}

/**
 * Throws `internal` for a sequence without tokens to process and `format` for an id outside the vocabulary.
 */
function checkRunnable(sequence: Sequence, vocab: number, inputs: RowSource): void {
  sequence.checkIdle()
  if (sequence.tokens.length === sequence.cached) {
    throw new HalfbyteError('internal', 'the sequence has no tokens to process; add at least one')
  }
  const wrong = sequence.tokens.find((id) => !(id >= 0 && id < vocab) && !inputs.takes(id))
  if (wrong === undefined) return
  throw new HalfbyteError(
    'format',
    `token ${wrong} is not one of the model's ${vocab}; the tokenizer belongs to a different model`,
    { token: wrong, vocab },
  )
}

/** Throws `unsupported` if the logits of all rows are requested and some rows must be in one step. */
function refuseAll({ sequence: { tokens }, logits }: ForwardRequest, inputs: RowSource): void {
  if (logits !== 'all' || inputs.untilTogether(tokens, 0, tokens.length) === tokens.length) return
  throw new HalfbyteError(
    'unsupported',
    'this model does not give logits at every position for text with images',
  )
}

// hot
/** Throws `internal` if a chosen token represents a row that is not held. */
function checkInputs({ inputs }: StepBuffer, { lanes }: Work): void {
  for (let index = 0; index < lanes.length; index++) {
    const { sequence, rows } = lanes[index]!
    const { tokens, cached } = sequence
    inputs.check(tokens, cached, Math.min(cached + rows, tokens.length))
  }
}

// hot
/** Allocates state for the chosen rows. Leaves out drafts that do not fit. Returns the number of rows. */
function reserve(work: Work): number {
  const { lanes } = work
  let rows = 0
  for (let at = 0; at < lanes.length; at++) {
    const { sequence, rows: wanted } = lanes[at]!
    if (wanted === 0) continue
    try {
      sequence.makePlace(wanted)
      if (work.drafted > 0 && !sequence.state.beginTrial()) return reserveBare(work)
      sequence.state.reserve(wanted)
    } catch (error) {
      if (work.drafted === 0) throw error
      return reserveBare(work)
    }
    rows += wanted
  }
  return rows
}

function reserveBare(work: Work): number {
  for (let at = 0; at < work.lanes.length; at++) {
    const lane = work.lanes[at]!
    lane.rows -= work.drafted
    lane.sequence.state.endTrial()
  }
  work.drafted = 0
  return reserve(work)
}

function describe(step: StepBuffer, work: Work, lane: Lane): void {
  const { tokens, cached, state } = lane.sequence
  const first = work.logits === 'all' ? cached : tokens.length - 1
  step.addSequence(state, step.inputs.togetherAt(tokens, cached) > 0, tokens)
  let logits: number | undefined
  for (let at = cached; at < cached + lane.rows; at++) {
    const id = at < tokens.length ? tokens[at]! : work.drafts[at - tokens.length]!
    const added = step.addToken(id, at >= first)
    logits ??= added
  }
  lane.firstLogits = logits ?? 0
}
