// Scheduler. In: requests on sequences. Out: steps that carry all of them, one run of the plan each.
import { HalfbyteError } from '../base/errors.ts'
import type { Plan } from '../graph/plan.ts'
import type { Arena } from '../runtime/arena.ts'
import { disposedError, type Pool } from '../runtime/pool.ts'
import type { WrittenPlan } from '../runtime/write-plan.ts'
import { ChunkSize } from './chunk-size.ts'
import { RowsView } from './rows-view.ts'
import type { Sequence } from './sequence.ts'
import type { StepBuffer } from './step-buffer.ts'
import {
  type ForwardRequest,
  ForwardWork,
  type GenerateOutcome,
  type GenerateRequest,
  GenerateWork,
  type Work,
} from './work.ts'

export interface SchedulerOptions {
  readonly pool: Pool
  readonly arena: Arena
  readonly plan: Plan
  readonly written: WrittenPlan
  readonly step: StepBuffer
  readonly now: () => number
  /** Lets messages and aborts in between steps. */
  readonly yieldTask: () => Promise<void>
}

/** Counts. */
interface Room {
  rows: number
  /** Rows of prompts. */
  prefill: number
  logits: number
  sequences: number
}

/**
 * Runs every request at once: a step carries one row of each sequence that decodes and as many rows of prompts as fit in
 * about 100 ms. What fails in one request fails that request only, unless the pool itself has died.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #views: Readonly<Record<Work['output'], RowsView>>
  readonly #chunk: ChunkSize
  readonly #work: Work[] = []
  /** First to be considered in the next step, so that none waits for ever when not all fit. */
  #turn = 0
  /** What a step that is being made can still carry. */
  readonly #left: Room = { rows: 0, prefill: 0, logits: 0, sequences: 0 }
  #running = false
  #disposed = false
  #wake: (() => void) | undefined

  constructor(options: SchedulerOptions) {
    this.#options = options
    const { arena, plan, written } = options
    this.#views = {
      logits: new RowsView(arena, plan.logits, written),
      hidden: new RowsView(arena, plan.hidden, written),
    }
    this.#chunk = new ChunkSize(options.plan.tokens)
  }

  /** Requests that have not ended. */
  get pending(): number {
    return this.#work.length
  }

  /**
   * Runs what the sequence's state lacks, then picks tokens until something ends it.
   * Rejects with the signal's reason within one step of an abort; the sequence keeps what was generated.
   * Throws `context-overflow`, `out-of-memory`, `internal` when the pool died, `disposed`.
   */
  generate(request: GenerateRequest): Promise<GenerateOutcome> {
    return new Promise((resolve, reject) => {
      this.#admit(request.sequence, request.signal)
      this.#enqueue(new GenerateWork(request, { resolve, reject }, this.#options.now()))
    })
  }

  /** Runs what the sequence's state lacks and shows the logits that are wanted. Rejects as `generate` does. */
  forward(request: ForwardRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#admit(request.sequence, request.signal)
      this.#enqueue(new ForwardWork(request, { resolve, reject }))
    })
  }

  /** Rejects what is pending with `reason`, by default `disposed`, and everything that comes later with `disposed`. */
  dispose(reason: unknown = disposedError()): void {
    this.#disposed = true
    for (const work of [...this.#work]) this.#fail(work, reason)
    this.#wake?.()
  }

  #admit(sequence: Sequence, signal: AbortSignal | undefined): void {
    signal?.throwIfAborted()
    if (this.#disposed) throw disposedError()
    sequence.checkIdle()
    if (sequence.tokens.length === sequence.cached) {
      throw new HalfbyteError('internal', 'the sequence has no token to run; give it at least one')
    }
    const { width: vocab } = this.#options.plan.logits
    const wrong = sequence.tokens.find((id) => !(id >= 0 && id < vocab))
    if (wrong === undefined) return
    throw new HalfbyteError(
      'format',
      `token ${wrong} is not one of the model's ${vocab}; the tokenizer belongs to another model`,
      { token: wrong, vocab },
    )
  }

  #enqueue(work: Work): void {
    work.sequence.busy = true
    this.#work.push(work)
    work.signal?.addEventListener('abort', this.#wakeUp)
    this.#wake?.()
    if (!this.#running) void this.#loop()
  }

  readonly #wakeUp = (): void => this.#wake?.()

  async #loop(): Promise<void> {
    this.#running = true
    try {
      // What the caller does next in its own task, an abort included, comes before the first step.
      await this.#options.yieldTask()
      while (this.#work.length > 0) {
        this.#dropAborted()
        if (this.#choose() > 0) this.#runStep()
        else if (this.#work.length > 0 && this.#work.every((work) => work.waiting)) await this.#somethingNew()
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
    for (let index = this.#work.length - 1; index >= 0; index--) {
      const work = this.#work[index]!
      if (work.signal?.aborted === true) this.#fail(work, work.signal.reason)
    }
  }

  // hot
  /** Gives each request its rows of the next step; those that decode come first. Returns the rows. */
  #choose(): number {
    const { tokens, logitRows, sequences } = this.#options.step.capacity
    const left = this.#left
    left.rows = tokens
    left.prefill = this.#chunk.rows
    left.logits = logitRows
    left.sequences = sequences
    const count = this.#work.length
    for (let index = 0; index < count; index++) this.#work[index]!.rows = 0
    for (let pass = 0; pass < 2; pass++) {
      for (let turn = 0; turn < count; turn++) {
        const work = this.#work[(this.#turn + turn) % count]!
        if (work.waiting || left.sequences === 0 || work.rows > 0) continue
        const lacking = work.sequence.tokens.length - work.sequence.cached
        if (pass === 0 ? lacking === 1 : lacking > 1) this.#give(work, lacking, left)
      }
    }
    this.#turn = count === 0 ? 0 : (this.#turn + 1) % count
    return this.#reserve()
  }

  #give(work: Work, lacking: number, left: Room): void {
    let rows = lacking === 1 ? Math.min(1, left.rows) : Math.min(lacking, left.rows, left.prefill)
    if (work.logits === 'all') rows = Math.min(rows, left.logits)
    else if (rows === lacking && left.logits === 0) rows--
    if (rows <= 0) return
    work.rows = rows
    left.rows -= rows
    left.sequences--
    if (lacking > 1) left.prefill -= rows
    if (work.logits === 'all') left.logits -= rows
    else if (rows === lacking) left.logits--
  }

  /** Makes room for the chosen rows. Who finds none fails alone. */
  #reserve(): number {
    let rows = 0
    for (let index = this.#work.length - 1; index >= 0; index--) {
      const work = this.#work[index]!
      if (work.rows === 0) continue
      try {
        work.sequence.state.reserve(work.rows)
        rows += work.rows
      } catch (error) {
        this.#fail(work, error)
      }
    }
    return rows
  }

  #runStep(): void {
    const { pool, written, step, now, plan } = this.#options
    const start = now()
    let last = plan.hidden.ops
    for (let index = 0; index < this.#work.length; index++) {
      const { rows, output } = this.#work[index]!
      if (rows > 0 && output === 'logits') last = written.count
    }
    this.#describe(step)
    try {
      pool.run(written.records, step.step, 0, last)
    } catch (error) {
      this.dispose(error)
      return
    }
    const end = now()
    if (step.rows > 1) this.#chunk.observe(step.rows, end - start)
    for (let index = this.#work.length - 1; index >= 0; index--) {
      // A consumer may have disposed of everything.
      const work = this.#work[index]
      if (work !== undefined && work.rows > 0) this.#deliver(work, start, end)
    }
  }

  #describe(step: StepBuffer): void {
    step.begin()
    for (let index = 0; index < this.#work.length; index++) {
      const work = this.#work[index]!
      if (work.rows === 0) continue
      const { tokens, cached, state } = work.sequence
      const first = work.logits === 'all' ? cached : tokens.length - 1
      step.addSequence(state)
      let logits: number | undefined
      for (let at = cached; at < cached + work.rows; at++) {
        const added = step.addToken(tokens[at]!, at >= first)
        logits ??= added
      }
      work.firstLogits = logits ?? 0
    }
    step.finish()
  }

  #deliver(work: Work, start: number, end: number): void {
    const { sequence, rows } = work
    const position = sequence.cached
    const wanted = work.logits === 'all' ? position : sequence.tokens.length - 1
    sequence.state.advance(rows)
    work.observe(start, end)
    try {
      for (let at = Math.max(position, wanted); at < position + rows; at++) {
        const logits = this.#views[work.output].row(work.firstLogits + at - Math.max(position, wanted))
        const answer = work.take(at, logits, this.#options.now())
        if (answer === true) this.#finish(work)
        else if (answer !== false) this.#wait(work, answer)
      }
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
    const index = this.#work.indexOf(work)
    if (index < 0) return false
    this.#work.splice(index, 1)
    work.signal?.removeEventListener('abort', this.#wakeUp)
    work.sequence.busy = false
    return true
  }
}
