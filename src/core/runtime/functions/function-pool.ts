// The pool of a network: compute workers that run its steps together with the caller's thread.
import { reasonOf } from '../../base/errors.ts'
import type { ComputePort } from '../host.ts'
import { diedError, disposedError } from '../pool.ts'
import type { FunctionRequest } from './function-thread.ts'
import { callWorker, closeRun, endWaits, MAX_WORKERS, openRun, WAIT_MS } from './gate.ts'
import { addFunctions, runSteps, type StepList, stateWords, type ThreadState } from './step-list.ts'

/** Needed because a worker that fails silently never answers. */
const START_TIMEOUT_MS = 15_000

interface FunctionPoolOptions extends Omit<ThreadState, 'functions'> {
  readonly module: WebAssembly.Module
  /** Ends of the workers' stacks, one per worker. */
  readonly stackTops: readonly number[]
  readonly startWorker: () => ComputePort
  /** How long workers wait for the next run before their next message. Default: `WAIT_MS`. */
  readonly waitMs?: number | undefined
}

export class FunctionPool {
  readonly threads: number
  readonly #state: ThreadState
  readonly #ports: ComputePort[] = []
  #run = 0
  #death: string | undefined
  #ended = false

  private constructor({ engine, sync, gate, memory, stackTops }: FunctionPoolOptions) {
    this.#state = { engine, sync, gate, memory, functions: [] }
    this.threads = Math.min(stackTops.length, MAX_WORKERS) + 1
  }

  /** Rejects with `internal` if a worker cannot be started or does not answer in time. */
  static async start(options: FunctionPoolOptions): Promise<FunctionPool> {
    const pool = new FunctionPool(options)
    try {
      await Promise.all(
        options.stackTops.slice(0, MAX_WORKERS).map((_, index) => pool.#start(options, index)),
      )
      return pool
    } catch (error) {
      pool.dispose()
      throw diedError(reasonOf(error))
    }
  }

  /** Adds a module, whose functions are assigned the next numbers on every thread. */
  add(code: WebAssembly.Module): void {
    addFunctions(this.#state, code)
    const request: FunctionRequest = { type: 'code', code }
    for (const port of this.#ports) port.postMessage(request)
  }

  /**
   * Runs the steps on all threads, or only on the caller's; `lists` has one list per thread, the caller's
   * first. Returns when they are done. Throws `internal` if a thread died; throws `disposed` after that and
   * after `dispose`.
   */
  run(lists: readonly StepList[], isShared: boolean): void {
    this.#check()
    const { states, count } = lists[0]!
    const words = new Int32Array(this.#state.memory.buffer)
    words.fill(0, states / 4, states / 4 + stateWords(this.threads) * count)
    if (isShared) {
      openRun(this.#state, ++this.#run, lists)
      for (const [index, port] of this.#ports.entries())
        if (!callWorker(this.#state, index + 1)) port.postMessage({ type: 'steps' })
    }
    let done = false
    try {
      done = runSteps(this.#state, lists[0]!, 0, isShared ? this.threads : 1)
      if (isShared) done = closeRun(this.#state) && done
    } catch (cause) {
      this.#die(reasonOf(cause))
    }
    if (!done) this.#die('another thread stopped answering')
    this.#check()
  }

  dispose(): void {
    this.#ended = true
    this.#state.engine.poison(this.#state.sync)
    endWaits(this.#state, this.threads)
    for (const port of this.#ports.splice(0)) port.terminate()
  }

  #check(): void {
    const death = this.#death
    this.#death = undefined
    if (death !== undefined) throw diedError(death)
    if (this.#ended) throw disposedError()
  }

  #die(reason: string): void {
    if (this.#ended) return
    this.#death = reason
    this.dispose()
  }

  async #start(
    { module, memory, sync, gate, stackTops, startWorker, waitMs = WAIT_MS }: FunctionPoolOptions,
    index: number,
  ): Promise<void> {
    const port = startWorker()
    this.#ports.push(port)
    let timer: ReturnType<typeof setTimeout> | undefined
    await new Promise<void>((resolve, reject) => {
      const fail = (reason: string): void => {
        reject(new Error(reason))
        if (this.#ports.includes(port)) this.#die(reason)
      }
      timer = setTimeout(() => fail(`it did not start within ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS)
      port.onError(({ message }) => fail(message))
      port.onMessage((reply) => {
        if (reply.type === 'ready') resolve()
        else fail(reply.type === 'failed' ? reply.message : `it sent ${reply.type} at the wrong time`)
      })
      const thread = index + 1
      const stackTop = stackTops[index]!
      const { threads } = this
      port.postMessage({ type: 'functions', module, memory, stackTop, sync, gate, thread, threads, waitMs })
    }).finally(() => clearTimeout(timer))
  }
}
