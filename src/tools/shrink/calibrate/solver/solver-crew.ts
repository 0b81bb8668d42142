// The crew of solvers: factors and solves a matrix with threads that share one memory, or on this thread if
// no other can be started. Results are bit-identical.
//
//   memory   [ C, its panel, D^T | buffers of thread 0 | buffers of thread 1 | .. ]

import { HalfbyteError } from '../../../../core/base/errors.ts'
import type { Host } from '../../../../core/runtime/host.ts'
import { checkWeights, type GridFormat } from '../../codes/coded-matrix.ts'
import {
  type Dense,
  type Factor,
  type FactorOptions,
  factorBytes,
  factorizing,
  type GemmCall,
  plainDense,
  type Rows,
  SLAB_ROWS,
  slabBytes,
} from '../../matrix/factor.ts'
import { joinSlabs, type Slab, type Solved, slabsOf, solveSlab } from '../../matrix/gptq.ts'
import type { InputStats } from '../../matrix/hessian.ts'
import { driftRows } from '../../matrix/targets.ts'
import { type GroupResult, groupBytes, solveGroup } from '../../prune/group-tasks.ts'
import { inverseSlabs, invertRows } from '../../prune/inverse.ts'
import type { GroupSteps } from '../../prune/prune-matrix.ts'
import { type CodeCall, PANEL, plainCodes } from '../products/code-kernels.ts'
import { type CodeMemory, codeMemory } from '../products/code-memory.ts'
import type { SolvePort, SolveReply, SolveRequest, SolveResult } from './solve-thread.ts'
import { codesIn, denseIn, partBytes, STACK_BYTES, solverMemory } from './solver-module.ts'

export interface CrewOptions {
  /** The compiled module of wasm/solve. Default: products are computed in TypeScript, on this thread. */
  readonly solver?: WebAssembly.Module | undefined
  /** Starts a thread. Default: none is started. */
  readonly startSolver?: (() => SolvePort) | undefined
  readonly threads: number
  readonly signal: AbortSignal
  /** Called between this thread's slabs, so that an abort can arrive. */
  readonly yieldTask: () => Promise<void>
}

/** A step with fewer multiplications than this is not worth a message. */
const MIN_SHARED = 4e6

/** A crew with the threads that a job may use. */
export const crewOf = (
  options: Pick<CrewOptions, 'solver' | 'startSolver' | 'signal'> & {
    readonly host: Host
    readonly threads: number | 'auto'
  },
): SolverCrew => {
  const { host, threads } = options
  return new SolverCrew({
    ...options,
    threads: threads === 'auto' ? host.cores : threads,
    yieldTask: () => host.yieldTask(),
  })
}

/** Data shared by a product's matrices. */
export interface Known {
  readonly factor: Factor
  readonly drift: Rows<Float32Array> | undefined
}

/** The same for groups of rows that share a mask. */
export interface KnownForGroups extends Known {
  readonly inverse?: Float64Array | undefined
}

interface GroupOptions extends Omit<FactorOptions, 'dense'> {
  /** Bytes that this thread needs for a matrix, including its factor. */
  readonly bytes: number
  readonly withInverse: boolean
}

export class SolverCrew {
  readonly #options: CrewOptions
  readonly #threads: SolverThread[] = []
  #memory: { readonly memory: WebAssembly.Memory; readonly dense: Dense } | undefined
  #codes: WebAssembly.Memory | undefined

  constructor(options: CrewOptions) {
    this.#options = options
    const { solver, startSolver, threads } = options
    if (solver === undefined || startSolver === undefined || threads < 2) return
    this.#threads = Array.from({ length: threads }, () => new SolverThread(startSolver()))
    options.signal.addEventListener('abort', this.#abort)
  }

  /** Throws `out-of-memory`, what `factorize` throws, `internal` if a thread died, the signal's reason. */
  async know(name: string, stats: InputStats, options: Omit<FactorOptions, 'dense'>): Promise<Known> {
    const { k, drift } = stats
    const own = slabBytes(SLAB_ROWS, k)
    const alone = this.#threads.length === 0 ? own : 0
    return this.#know(name, stats, options, factorBytes(k, drift !== undefined) + alone, own)
  }

  /** The same for `solveGroups`. */
  async knowForGroups(
    name: string,
    stats: InputStats,
    { bytes, withInverse, ...options }: GroupOptions,
  ): Promise<KnownForGroups> {
    const { k } = stats
    const known = await this.#know(name, stats, options, bytes, groupBytes(k))
    const inverse = withInverse ? known.factor.dense.room('inverse', k * k) : undefined
    await this.#all({ type: 'share', inverse })
    if (inverse === undefined) return known
    await this.#spread<readonly [number, number], unknown>(
      inverseSlabs(k),
      ([first, end], thread) => thread.ask({ type: 'invert', first, end }),
      ([first, end]) => invertRows(known.factor, inverse, first, end),
    )
    return { ...known, inverse }
  }

  async #know(
    name: string,
    stats: InputStats,
    options: Omit<FactorOptions, 'dense'>,
    bytes: number,
    threadBytes: number,
  ): Promise<Known> {
    const { k, drift } = stats
    const dense = await this.#open(bytes, threadBytes)
    const steps = factorizing(name, stats, { ...options, dense })
    for (;;) {
      const { done, value } = steps.next()
      if (done !== true) {
        await this.#multiply(value, dense)
        continue
      }
      const known = { factor: value, drift: drift && driftRows(drift, k, dense) }
      const { dense: _, ...factor } = value
      await this.#all({ type: 'know', factor, drift: known.drift })
      return known
    }
  }

  /**
   * Throws `format` for weights or scales that cannot be encoded, `internal` if a thread died, the signal's
   * reason.
   */
  async solve<F extends GridFormat>(matrix: Slab<F>, { factor, drift }: Known): Promise<Solved<F>> {
    checkWeights(matrix.weights, matrix.n, matrix.k)
    const solved = await this.#spread(
      slabsOf(matrix),
      async (slab, thread) => (await thread.ask({ type: 'solve', slab })) as Solved<F>,
      (slab) => solveSlab(slab, factor, drift),
    )
    return joinSlabs(matrix, solved)
  }

  /**
   * A memory for products of codes in which this thread may allocate `bytes`. It replaces the last one.
   * Throws `out-of-memory`, or `internal` if a thread died.
   */
  async openCodes(bytes: number): Promise<CodeMemory> {
    const { solver } = this.#options
    if (solver === undefined) {
      const buffer = new ArrayBuffer(bytes)
      return codeMemory(buffer, plainCodes(buffer), 0)
    }
    const stacks = (1 + this.#threads.length) * STACK_BYTES
    const whole = partBytes(stacks + bytes)
    const known = this.#codes
    const memory = known !== undefined && known.buffer.byteLength >= whole ? known : solverMemory(whole)
    this.#codes = memory
    await Promise.all(
      this.#threads.map((thread, index) =>
        thread.ask({ type: 'open-codes', module: solver, memory, start: (1 + index) * STACK_BYTES }),
      ),
    )
    return codeMemory(memory.buffer, codesIn(solver, memory, 0), stacks)
  }

  /**
   * Adds the products of calls, which must follow each other, in the memory of codes. Throws `internal` if a
   * thread died, or the signal's reason.
   */
  async multiplyCodes(calls: readonly CodeCall[], { kernels }: CodeMemory): Promise<void> {
    const count = calls.reduce((sum, { a, b }) => sum + a.panels * b.panels * PANEL ** 2 * 2 * a.pairs, 0)
    if (this.#threads.length === 0 || count < MIN_SHARED) {
      for (const call of calls) kernels.add(call)
      return
    }
    const { length } = this.#threads
    await Promise.all(
      this.#threads.map((thread, index) =>
        thread.ask({
          type: 'multiply-codes',
          calls: calls.map((call) => ({ ...call, first: index, step: length })),
        }),
      ),
    )
  }

  /** Solves the groups of every step. Throws what `solveGroup` and `solve` throw. */
  async solveGroups<Result>(steps: GroupSteps<Result>, { factor, inverse }: KnownForGroups): Promise<Result> {
    let step = steps.next()
    while (step.done !== true) {
      const results = await this.#spread(
        step.value,
        async (task, thread) => (await thread.ask({ type: 'group', task })) as GroupResult,
        (task) => solveGroup(task, factor, inverse),
      )
      step = steps.next(results)
    }
    return step.value
  }

  /** The results of all items, in order; each is computed by the first free thread. */
  async #spread<Item, Result>(
    items: readonly Item[],
    onThread: (item: Item, thread: SolverThread) => Promise<Result>,
    here: (item: Item) => Result,
  ): Promise<Result[]> {
    const results: Result[] = []
    let next = 0
    const work = async (compute: (item: Item) => Promise<Result>) => {
      while (next < items.length) {
        const index = next++
        results[index] = await compute(items[index] as Item)
        this.#options.signal.throwIfAborted()
      }
    }
    const alone = async (item: Item) => {
      await this.#options.yieldTask()
      return here(item)
    }
    await Promise.all(
      this.#threads.length > 0
        ? this.#threads.map((thread) => work((item) => onThread(item, thread)))
        : [work(alone)],
    )
    return results
  }

  /** Ends the threads. */
  dispose(): void {
    this.#options.signal.removeEventListener('abort', this.#abort)
    for (const thread of this.#threads) thread.end(new HalfbyteError('disposed', 'the solver was closed'))
  }

  readonly #abort = (): void => {
    for (const thread of this.#threads) thread.end(this.#options.signal.reason)
  }

  /** Allocates bytes for this thread and for each other thread. Reuses a memory that is large enough. */
  async #open(ownBytes: number, threadBytes: number): Promise<Dense> {
    const { solver } = this.#options
    if (solver === undefined) return plainDense
    const own = partBytes(ownBytes)
    const part = partBytes(threadBytes)
    const bytes = own + this.#threads.length * part
    const known = this.#memory?.memory
    const memory = known !== undefined && known.buffer.byteLength >= bytes ? known : solverMemory(bytes)
    const dense = denseIn(solver, memory, 0)
    this.#memory = { memory, dense }
    await Promise.all(
      this.#threads.map((thread, index) =>
        thread.ask({ type: 'open', module: solver, memory, start: own + index * part }),
      ),
    )
    return dense
  }

  async #multiply(calls: readonly GemmCall[], dense: Dense): Promise<void> {
    const count = calls.reduce((sum, [, , , m, n, depth]) => sum + m * n * depth, 0)
    if (this.#threads.length === 0 || count < MIN_SHARED) {
      for (const call of calls) dense.gemm(...call)
      return
    }
    // Later calls are longer, so each thread takes a mix of lengths.
    const of = (thread: number) => calls.filter((_, index) => index % this.#threads.length === thread)
    await Promise.all(
      this.#threads.map((thread, index) => thread.ask({ type: 'multiply', calls: of(index) })),
    )
  }

  async #all(request: SolveRequest): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.ask(request)))
  }
}

/** A worker, which handles one request at a time. */
class SolverThread {
  readonly #port: SolvePort
  #waiting: PromiseWithResolvers<SolveResult | undefined> | undefined
  #ended: { readonly reason: unknown } | undefined

  constructor(port: SolvePort) {
    this.#port = port
    port.onMessage((reply) => this.#answer(reply))
    port.onError((cause) => {
      const message = `a thread of the solver ended: ${cause.message}; run the command again with --resume`
      this.end(new HalfbyteError('internal', message, {}, { cause }))
    })
  }

  async ask(request: SolveRequest): Promise<SolveResult | undefined> {
    if (this.#ended !== undefined) throw this.#ended.reason
    this.#waiting = Promise.withResolvers()
    this.#port.postMessage(request)
    return this.#waiting.promise
  }

  /** Pending and later requests reject with `reason`. */
  end(reason: unknown): void {
    if (this.#ended !== undefined) return
    this.#ended = { reason }
    this.#port.terminate()
    this.#waiting?.reject(reason)
  }

  #answer(reply: SolveReply): void {
    if (reply.type === 'done') this.#waiting?.resolve(reply.result)
    else this.#waiting?.reject(HalfbyteError.fromWire(reply.error))
  }
}
