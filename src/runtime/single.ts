// Single. In: an instance of a module. Out: a pool that runs on the caller's thread.

import { SYNC_WORDS } from '../abi/blocks.ts'
import { reasonOf } from '../base/errors.ts'
import type { Arena, Ptr } from './memory/arena.ts'
import type { EngineExports } from './module.ts'
import { diedError, disposedError, type Pool } from './pool.ts'

/** For one core, and for pages that cannot share memory or start workers. */
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
