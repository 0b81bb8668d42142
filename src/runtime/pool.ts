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

export const disposedError = (): HalfbyteError =>
  new HalfbyteError('disposed', 'the engine has ended; load the model again')

export const diedError = (reason: string): HalfbyteError =>
  new HalfbyteError('internal', `a thread of the engine died: ${reason}; load the model again`, { reason })
