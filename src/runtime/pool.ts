// Pool. In: nothing. Out: the interface that runs a plan on one or many threads, and its errors.
import { HalfbyteError } from '../base/errors.ts'
import type { Ptr } from './arena.ts'

export interface Pool {
  /** Threads that share a run, the caller's included. */
  readonly threads: number
  readonly memory: WebAssembly.Memory
  /**
   * Runs op records [first, last) of the plan on the step, on all threads, and returns when they are done.
   * Throws `internal` when a thread died, and `disposed` ever after or after `dispose`.
   */
  run(plan: Ptr, step: Ptr, first: number, last: number): void
  /** Ends the threads; nothing can be run afterwards. The memory stays readable. */
  dispose(): void
}

/** A pool whose threads share no memory with the caller's: its runs end later. */
export interface AsyncPool extends Omit<Pool, 'run'> {
  /** One run at a time. Rejects as `Pool.run` throws, and with `out-of-memory` when a thread has no room for the state. */
  run(plan: Ptr, step: Ptr, first: number, last: number): Promise<void>
}

/** How a model is run: threads on one memory, workers with a part of the model each, or this thread alone. */
export type PoolKind = 'shared' | 'shards' | 'single'

export const disposedError = (): HalfbyteError =>
  new HalfbyteError('disposed', 'the engine has ended; load the model again')

export const diedError = (reason: string): HalfbyteError =>
  new HalfbyteError('internal', `a thread of the engine died: ${reason}; load the model again`, { reason })
