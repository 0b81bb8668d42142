// The interface of pools, which run a plan on one or many threads; their errors; and the pool with one
// thread.

import { SYNC_WORDS } from '../abi/constants.ts'
import { HalfbyteError, reasonOf } from '../base/errors.ts'
import type { Arena, Ptr } from './memory/arena.ts'
import type { EngineExports } from './module.ts'

/** For devices with one core, and for pages that cannot share memory or start workers. */
export class SinglePool implements Pool {
  readonly threads = 1
  readonly memory: WebAssembly.Memory
  readonly #engine: EngineExports
  readonly #sync: Ptr
  #ended = false

  constructor(engine: EngineExports, arena: Arena) {
    this.memory = arena.memory
    this.#engine = engine
    this.#sync = arena.allocate(SYNC_WORDS * 4, 'the pool')
    arena.u32.fill(0, this.#sync / 4, this.#sync / 4 + SYNC_WORDS)
  }

  // hot
  run(plan: Ptr, step: Ptr, first: number, last: number): void {
    if (this.#ended) throw disposedError()
    let failed = 1
    try {
      failed = this.#engine.run(this.#sync, plan, step, first, last, 0, 1)
    } catch (cause) {
      this.#ended = true
      throw diedError(reasonOf(cause))
    }
    if (failed === 0) return
    this.#ended = true
    throw diedError('it was poisoned')
  }

  dispose(): void {
    this.#ended = true
  }
}

export interface Pool {
  /** Number of threads that share a run, including the caller's. */
  readonly threads: number
  readonly memory: WebAssembly.Memory
  /**
   * Runs op records [first, last) of the plan on the step, on all threads. Returns when they are done. Throws
   * `internal` if a thread died. After that, and after `dispose`, throws `disposed`.
   */
  run(plan: Ptr, step: Ptr, first: number, last: number): void
  /**
   * Lets the other threads begin the run that the next call of `run`, with the same arguments, completes.
   * They wait for it for at most 20 s. Absent without other threads.
   */
  begin?(plan: Ptr, step: Ptr, first: number, last: number): void
  /** Ends the threads. Nothing can run afterwards, but the memory stays readable. */
  dispose(): void
}

/** A pool whose threads do not share the caller's memory, so its runs are asynchronous. */
export interface AsyncPool extends Omit<Pool, 'run'> {
  /**
   * Only one run at a time. Rejects with the errors of `Pool.run`, and with `out-of-memory` if a thread has
   * no memory for the state.
   */
  run(plan: Ptr, step: Ptr, first: number, last: number): Promise<void>
}

/**
 * How a model runs: on threads that share one memory, on workers that each hold part of the model, or only on
 * this thread.
 */
export type PoolKind = 'shared' | 'shards' | 'single'

export const disposedError = (): HalfbyteError =>
  new HalfbyteError('disposed', 'the engine has stopped; load the model again')

export const diedError = (reason: string): HalfbyteError =>
  new HalfbyteError('internal', `a thread of the engine died: ${reason}; load the model again`, { reason })
