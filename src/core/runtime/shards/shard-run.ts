// Runs a step on one shard, from one exchange of rows with the other shards to the next.

import { STEP, SYNC_WORDS } from '../../abi/constants.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Plan, PlanExchange } from '../../graph/plan/plan.ts'
import type { Arena, Ptr } from '../memory/arena.ts'
import type { EngineExports } from '../module.ts'
import type { WrittenPlan } from '../write-plan.ts'

/** These tasks take about a millisecond in total. During longer waits, the core is free for other work. */
const MAX_TASKS = 40

interface TaskScheduler {
  postTask(task: () => void, options: { readonly priority: 'background' }): Promise<void>
}

const { scheduler } = globalThis as { readonly scheduler?: Partial<TaskScheduler> }

/**
 * Waking a thread takes longer than sending a message to a running one. Only background tasks keep a thread
 * running without delaying its messages.
 */
class Awake {
  #left = 0
  #isPosted = false

  // hot
  /** Stays awake until `rest`, or for MAX_TASKS tasks. */
  stay(): void {
    this.#left = MAX_TASKS
    if (!this.#isPosted) this.#post()
  }

  rest(): void {
    this.#left = 0
  }

  #post(): void {
    this.#isPosted = scheduler?.postTask?.(this.#task, { priority: 'background' }) !== undefined
  }

  readonly #task = (): void => {
    this.#isPosted = false
    if (this.#left-- > 0) this.#post()
  }
}

/** Rows that are being sent. */
export type Floats = Float32Array<ArrayBuffer>

export interface ShardRunOptions {
  readonly engine: EngineExports
  readonly arena: Arena
  readonly plan: Plan
  readonly written: WrittenPlan
  readonly shard: number
  readonly shards: number
  /** Transfers `floats` to another shard. */
  readonly send: (shard: number, floats: Floats) => void
}

/** Number of floats in a row with its padding. */
const rowFloats = (width: number): number => Math.ceil(width / 32) * 32

/**
 * Runs one step at a time. Nothing here blocks: if rows are missing, the run pauses, and `receive` resumes
 * it. Another shard may be one exchange ahead; its rows are buffered until they are needed.
 */
export class ShardRun {
  readonly #options: ShardRunOptions
  readonly #sync: Ptr
  /** Per shard, rows that arrived and are not yet used, oldest first. */
  readonly #arrived: Floats[][]
  /** Per shard, the buffer that arrived last. It is reused for the next rows sent to that shard. */
  readonly #spare: (Floats | undefined)[]
  #step = 0 as Ptr
  #last = 0
  #at = 0
  #exchange = 0
  #done: (() => void) | undefined
  readonly #awake = new Awake()
  /** Number of exchanges so far, in all steps. */
  meetings = 0

  /** Throws `out-of-memory`. */
  constructor(options: ShardRunOptions) {
    const { arena, shards } = options
    this.#options = options
    this.#sync = arena.allocate(SYNC_WORDS * 4, 'the pool')
    arena.u32.fill(0, this.#sync / 4, this.#sync / 4 + SYNC_WORDS)
    this.#arrived = Array.from({ length: shards }, () => [])
    this.#spare = Array.from({ length: shards })
  }

  // hot
  /** Runs records [first, last), then calls `done`, possibly before returning. Throws `internal`. */
  start(step: Ptr, first: number, last: number, done: () => void): void {
    const { exchanges } = this.#options.plan
    this.#step = step
    this.#at = first
    this.#last = last
    this.#done = done
    this.#exchange = 0
    while ((exchanges[this.#exchange]?.op ?? last) < first) this.#exchange++
    this.#run()
  }

  /** Accepts rows from another shard. Throws `internal`. */
  receive(shard: number, floats: Floats): void {
    this.#arrived[shard]!.push(floats)
    const exchange = this.#options.plan.exchanges[this.#exchange]
    if (this.#done !== undefined && exchange !== undefined && this.#isComplete(exchange)) {
      this.#awake.rest()
      this.#take(exchange)
      this.#run()
    }
  }

  #run(): void {
    const { engine, written, plan } = this.#options
    for (;;) {
      const next = plan.exchanges[this.#exchange]
      const exchange = next !== undefined && next.op <= this.#last ? next : undefined
      const end = exchange?.op ?? this.#last
      if (end > this.#at) {
        const failed = engine.run(this.#sync, written.records, this.#step, this.#at, end, 0, 1)
        if (failed !== 0) throw new HalfbyteError('internal', 'a kernel of the engine failed')
      }
      this.#at = end
      if (exchange === undefined) break
      this.#give(exchange)
      if (!this.#isComplete(exchange)) {
        this.#awake.stay()
        return
      }
      this.#take(exchange)
    }
    // The first shard still has to sample and then to start the others' next step.
    if (this.#options.shard !== 0) this.#awake.stay()
    const done = this.#done
    this.#done = undefined
    done?.()
  }

  #rows({ rows }: PlanExchange): number {
    return this.#options.arena.u32[this.#step / 4 + (rows === 'tokens' ? STEP.tokens : STEP.logit_count)]!
  }

  /** True if this shard's rows are sent to `shard`: logits go only to the first shard, sums to all. */
  #isGivenTo(exchange: PlanExchange, shard: number): boolean {
    return shard !== this.#options.shard && (exchange.kind === 'sum' || shard === 0)
  }

  #give(exchange: PlanExchange): void {
    const { arena, written, shards, send } = this.#options
    const { own } = exchange
    const rows = this.#rows(exchange)
    if (rows === 0) return
    const width = rowFloats(own.width)
    for (let shard = 0; shard < shards; shard++) {
      if (!this.#isGivenTo(exchange, shard)) continue
      const spare = this.#spare[shard]
      const floats = spare?.length === rows * width ? spare : new Float32Array(rows * width)
      this.#spare[shard] = undefined
      const from = (written.activations + own.arena) / 4
      const stride = own.stride / 4
      if (stride === width) floats.set(arena.f32.subarray(from, from + rows * width))
      else {
        for (let row = 0; row < rows; row++)
          floats.set(arena.f32.subarray(from + row * stride, from + row * stride + width), row * width)
      }
      send(shard, floats)
    }
  }

  #isComplete(exchange: PlanExchange): boolean {
    const { shard, shards } = this.#options
    if (exchange.kind === 'columns' && shard !== 0) return true
    if (this.#rows(exchange) === 0) return true
    for (let other = 0; other < shards; other++) {
      if (other !== shard && this.#arrived[other]!.length === 0) return false
    }
    return true
  }

  #take(exchange: PlanExchange): void {
    const { shard, shards } = this.#options
    this.#exchange++
    this.meetings++
    if ((exchange.kind === 'columns' && shard !== 0) || this.#rows(exchange) === 0) return
    let columns = 0
    for (let other = 0; other < shards; other++) {
      const floats = other === shard ? undefined : this.#arrived[other]!.shift()
      if (floats !== undefined) {
        if (exchange.kind === 'sum') this.#putRows(floats, exchange, exchange.offsets[other]!)
        else this.#putColumns(floats, exchange, columns, exchange.widths[other]!)
        this.#spare[other] = floats
      }
      if (exchange.kind === 'columns') columns += exchange.widths[other]!
    }
  }

  #putRows(floats: Floats, exchange: PlanExchange, place: number): void {
    const { arena, written } = this.#options
    this.#expect(floats, this.#rows(exchange) * (exchange.own.stride / 4))
    arena.f32.set(floats, (written.activations + place) / 4)
  }

  #putColumns(floats: Floats, exchange: PlanExchange, column: number, width: number): void {
    const { arena, written } = this.#options
    const { own } = exchange
    const rows = this.#rows(exchange)
    const stride = rowFloats(width)
    this.#expect(floats, rows * stride)
    for (let row = 0; row < rows; row++) {
      const to = (written.activations + own.arena + row * own.stride) / 4 + column
      arena.f32.set(floats.subarray(row * stride, row * stride + width), to)
    }
  }

  #expect(floats: Floats, length: number): void {
    if (floats.length === length) return
    throw new HalfbyteError(
      'internal',
      `a worker sent ${floats.length} values instead of ${length}; load the model again`,
    )
  }
}
