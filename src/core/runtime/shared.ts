// The pool of threads that share one memory.

import { SYNC, SYNC_WORDS } from '../abi/constants.ts'
import { type HalfbyteError, reasonOf } from '../base/errors.ts'
import { type ComputeReply, PIECE_BYTES } from './compute-thread.ts'
import type { ComputePort } from './host.ts'
import { type Arena, offset, type Ptr } from './memory/arena.ts'
import type { EngineExports } from './module.ts'
import type { PlaceRequest } from './place-pieces.ts'
import { diedError, disposedError, type Pool } from './pool.ts'

/** Kernels need little stack. The first thread's stack is as large. */
export const STACK_BYTES = 65536
/** Workers start in 0.1 s, more slowly on a phone under load. A worker that fails silently never answers. */
const START_TIMEOUT_MS = 15_000

export interface SharedPoolOptions {
  readonly engine: EngineExports
  readonly module: WebAssembly.Module
  readonly arena: Arena
  readonly startWorker: () => ComputePort
  /** How long to wait for a worker to start or to leave a run. Default: 15 s. */
  readonly timeoutMs?: number
  /** Called once when a thread dies, also between runs. */
  readonly onDeath?: (error: HalfbyteError) => void
}

/** A part of the memory. */
export interface Region {
  readonly address: Ptr
  readonly bytes: number
}

/** What new workers do until their first run. */
export interface EarlyWork {
  /** Memory whose pages they access, so that filling them takes less time. Default: none. */
  readonly ahead?: Region | undefined
  /**
   * Called for each of them after their stacks were allocated. What it helps to place. Default: nothing.
   */
  readonly place?: (() => PlaceRequest | undefined) | undefined
}

interface Worker {
  readonly port: ComputePort
  /** The reply that the pool is waiting for. */
  expected: { type: ComputeReply['type']; resolve: () => void; reject: (error: Error) => void } | undefined
}

/**
 * The caller's thread and up to N - 1 compute workers, which sleep in `serve` until a run begins. Between
 * `resize` calls, a worker either serves (asleep or running) or waits for messages at no cost.
 */
export class SharedPool implements Pool {
  readonly memory: WebAssembly.Memory
  readonly #options: SharedPoolOptions
  readonly #sync: Ptr
  readonly #workers: Worker[] = []
  readonly #stacks: Ptr[] = []
  #words: Int32Array
  #threads = 1
  #hasBegun = false
  #death: HalfbyteError | undefined
  #ended = false

  constructor(options: SharedPoolOptions) {
    this.memory = options.arena.memory
    this.#options = options
    this.#sync = options.arena.allocate(SYNC_WORDS * 4, 'the pool')
    this.#words = new Int32Array(this.memory.buffer)
    this.#clear()
  }

  get threads(): number {
    return this.#threads
  }

  begin(plan: Ptr, step: Ptr, first: number, last: number): void {
    this.#checkAlive()
    const threads = this.#threads
    if (threads === 1) return
    const words = this.#words
    const sync = this.#sync / 4
    words[sync + SYNC.plan] = plan
    words[sync + SYNC.step] = step
    words[sync + SYNC.first] = first
    words[sync + SYNC.last] = last
    words[sync + SYNC.threads] = threads
    Atomics.add(words, sync + SYNC.command, 1)
    Atomics.notify(words, sync + SYNC.command)
    this.#hasBegun = true
  }

  // hot
  run(plan: Ptr, step: Ptr, first: number, last: number): void {
    if (this.#hasBegun) this.#checkAlive()
    else this.begin(plan, step, first, last)
    this.#hasBegun = false
    const threads = this.#threads
    let failed = 1
    try {
      failed = this.#options.engine.run(this.#sync, plan, step, first, last, 0, threads)
    } catch (cause) {
      this.#die(reasonOf(cause))
    }
    if (failed !== 0) {
      this.#die('another thread stopped answering')
      this.#checkAlive()
    }
  }

  /**
   * Sets the number of threads that share a run. Starts workers as needed; surplus workers stay idle. Throws
   * `internal` if a worker cannot be started or does not answer in time; the pool has then ended.
   */
  async resize(threads: number, { ahead, place }: EarlyWork = {}): Promise<void> {
    this.#checkAlive()
    if (threads === this.#threads) return
    const missing = Math.max(0, threads - 1 - this.#workers.length)
    // Allocated now, because the caller may allocate before the workers have started.
    for (let index = this.#stacks.length; index < threads - 1; index++)
      this.#stacks.push(this.#options.arena.allocate(STACK_BYTES, 'a thread'))
    const places = Array.from({ length: missing }, () => place?.())
    try {
      await this.#recall()
      await Promise.all(places.map((each, index) => this.#start({ ahead, place: each }, index, missing)))
      this.#checkAlive()
      this.#clear()
      for (const [index, { port }] of this.#workers.slice(0, threads - 1).entries()) {
        port.postMessage({ type: 'serve', sync: this.#sync, thread: index + 1 })
      }
      this.#threads = threads
    } catch (error) {
      if (this.#death === undefined && !this.#ended) this.#die(reasonOf(error))
      this.#checkAlive()
    }
  }

  /** Ends the workers that are not part of runs. */
  releaseIdle(): void {
    for (const { port } of this.#workers.splice(this.#threads - 1)) port.terminate()
  }

  dispose(): void {
    if (this.#ended) return
    this.#ended = true
    this.#leave()
    for (const worker of this.#workers.splice(0)) {
      worker.expected?.reject(disposedError())
      worker.port.terminate()
    }
  }

  /** Throws the cause of death once, then `disposed`. */
  #checkAlive(): void {
    const death = this.#death
    this.#death = undefined
    if (death !== undefined) throw death
    if (this.#ended) throw disposedError()
  }

  #die(reason: string): void {
    if (this.#ended) return
    const death = diedError(reason)
    this.#death = death
    this.#options.engine.poison(this.#sync)
    for (const worker of this.#workers) worker.expected?.reject(death)
    this.dispose()
    this.#options.onDeath?.(death)
  }

  /** Wakes every serving worker and makes it leave `serve`. */
  #leave(): void {
    Atomics.store(this.#words, this.#sync / 4 + SYNC.quit, 1)
    Atomics.add(this.#words, this.#sync / 4 + SYNC.command, 1)
    Atomics.notify(this.#words, this.#sync / 4 + SYNC.command)
  }

  /** Makes every serving worker return to its event loop. Then the sync block may be written. */
  async #recall(): Promise<void> {
    const serving = this.#workers.slice(0, this.#threads - 1)
    const idle = serving.map((worker) => this.#expect(worker, 'idle', 'did not leave its run'))
    this.#leave()
    await Promise.all(idle)
    this.#threads = 1
  }

  /** Starts worker `index` of `count` new ones. */
  async #start(
    { ahead, place }: { readonly ahead: Region | undefined; readonly place: PlaceRequest | undefined },
    index: number,
    count: number,
  ): Promise<void> {
    const { module, startWorker } = this.#options
    const stack = this.#stacks[this.#workers.length] as Ptr
    const worker: Worker = { port: startWorker(), expected: undefined }
    this.#workers.push(worker)
    worker.port.onMessage((reply) => this.#receive(worker, reply as ComputeReply))
    worker.port.onError((error) => {
      if (this.#workers.includes(worker)) this.#die(error.message)
    })
    const ready = this.#expect(worker, 'ready', 'did not start')
    worker.port.postMessage({
      type: 'start',
      module,
      memory: this.memory,
      stackTop: offset(stack, STACK_BYTES),
      ahead: ahead && {
        begin: ahead.address,
        end: ahead.address + ahead.bytes - index * PIECE_BYTES,
        until: this.#sync + 4 * SYNC.command,
        skip: (count - 1) * PIECE_BYTES,
      },
      place,
    })
    await ready
  }

  #receive(worker: Worker, reply: ComputeReply): void {
    if (reply.type === worker.expected?.type) worker.expected.resolve()
    else if (reply.type === 'failed') this.#die(reply.message)
    else if (this.#workers.includes(worker)) this.#die(`it sent ${reply.type} at the wrong time`)
  }

  #expect(worker: Worker, type: ComputeReply['type'], complaint: string): Promise<void> {
    const { timeoutMs = START_TIMEOUT_MS } = this.#options
    let timer: ReturnType<typeof setTimeout>
    return new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`it ${complaint} within ${timeoutMs} ms`)), timeoutMs)
      worker.expected = { type, resolve, reject }
    }).finally(() => {
      clearTimeout(timer)
      worker.expected = undefined
    })
  }

  #clear(): void {
    const first = this.#sync / 4
    this.#words.fill(0, first, first + SYNC_WORDS)
  }
}
