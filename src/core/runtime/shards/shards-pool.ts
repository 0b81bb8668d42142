// The pool of shards: runs a step on the first shard's plan together with all other shards.
import { type HalfbyteError, reasonOf } from '../../base/errors.ts'
import type { Ptr } from '../memory/arena.ts'
import { type AsyncPool, diedError, disposedError } from '../pool.ts'
import type { ShardGroup } from './shard-group.ts'
import { ShardRun, type ShardRunOptions } from './shard-run.ts'
import { stateTables, stepWords } from './step-mirror.ts'

/**
 * Seconds without an exchange after which a shard counts as dead. Steps are sized to take a tenth of this
 * time.
 */
const PATIENCE_SECONDS = 20

interface ShardsPoolOptions extends Omit<ShardRunOptions, 'send' | 'shard' | 'shards'> {
  readonly group: ShardGroup
  /** Called once when a shard dies, also between steps. */
  readonly onDeath?: ((error: HalfbyteError) => void) | undefined
}

/**
 * A pool for pages that cannot share memory. Every shard runs its own plan, and rows travel in messages. It
 * always runs the plan in its options.
 */
export class ShardsPool implements AsyncPool {
  readonly threads: number
  readonly memory: WebAssembly.Memory
  readonly #options: ShardsPoolOptions
  readonly #run: ShardRun
  readonly #watch: ReturnType<typeof setInterval>
  #settle: { resolve: () => void; reject: (error: unknown) => void } | undefined
  #ended: HalfbyteError | undefined
  #seen = 0
  #quietSeconds = 0

  /** Throws `out-of-memory`. */
  constructor(options: ShardsPoolOptions) {
    const { group, arena } = options
    this.#options = options
    this.threads = group.shards
    this.memory = arena.memory
    this.#run = new ShardRun({
      ...options,
      shard: 0,
      shards: group.shards,
      send: (shard, floats) => group.send(shard, floats),
    })
    group.onFloats = (shard, floats) => this.#guard(() => this.#run.receive(shard, floats))
    group.onDeath = (error) => this.#die(error)
    this.#watch = setInterval(() => this.#look(), 1000)
    // In Node, an idle pool must not keep the process alive.
    const timer = this.#watch as Partial<NodeJS.Timeout>
    timer.unref?.()
  }

  /**
   * Runs records [first, last) of the plan on every shard. Rejects with `internal`, `out-of-memory` or
   * `disposed`.
   */
  run(_plan: Ptr, step: Ptr, first: number, last: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) throw this.#ended
      const { group, arena, plan } = this.#options
      this.#settle = { resolve, reject }
      group.tell(stepWords(arena, step, stateTables(plan), first, last))
      this.#guard(() => this.#run.start(step, first, last, this.#done))
    })
  }

  dispose(): void {
    this.#end(disposedError())
  }

  readonly #done = (): void => {
    const settle = this.#settle
    this.#settle = undefined
    settle?.resolve()
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (cause) {
      this.#die(diedError(reasonOf(cause)))
    }
  }

  #look(): void {
    const { meetings } = this.#run
    this.#quietSeconds = this.#settle !== undefined && meetings === this.#seen ? this.#quietSeconds + 1 : 0
    this.#seen = meetings
    if (this.#quietSeconds > PATIENCE_SECONDS) this.#die(diedError('it stopped answering'))
  }

  #die(error: HalfbyteError): void {
    if (this.#ended !== undefined) return
    this.#end(error)
    // Later calls fail because the pool has ended.
    this.#ended = disposedError()
    this.#options.onDeath?.(error)
  }

  #end(error: HalfbyteError): void {
    if (this.#ended !== undefined) return
    this.#ended = error
    clearInterval(this.#watch)
    this.#options.group.dispose(error)
    const settle = this.#settle
    this.#settle = undefined
    settle?.reject(error)
  }
}
