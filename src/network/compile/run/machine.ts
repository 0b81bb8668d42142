// Runs programs: the functions of their kernels, the constants, and one arena for the values of a run.
import { SYNC_WORDS } from '../../../core/abi/constants.ts'
import { rowsAfter } from '../../../core/abi/records.ts'
import { quickTurn } from '../../../core/base/budget.ts'
import { HalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { endSpan } from '../../../core/base/time/spans.ts'
import { arenaAligned } from '../../../core/graph/plan/arena.ts'
import { FunctionPool } from '../../../core/runtime/functions/function-pool.ts'
import { gateBytes } from '../../../core/runtime/functions/gate.ts'
import {
  addFunctions,
  ENGINE_OP,
  STEP_ENTRY,
  STEP_ENTRY_WORDS,
  type StepFunction,
  type StepList,
  stateWords,
} from '../../../core/runtime/functions/step-list.ts'
import type { ComputePort } from '../../../core/runtime/host.ts'
import { createMemory } from '../../../core/runtime/memory/linear-memory.ts'
import { type EngineExports, instantiateEngine } from '../../../core/runtime/module.ts'
import { arrayOf, countOf, rounder, type Tensor } from '../../onnx/ir/tensor.ts'
import { emitKernel, PARAMETERS } from '../emit/emit.ts'
import { canLeave, type Dot, type Kernel, STATUS, type StreamPlace } from '../emit/kernel.ts'
import { wordsOf } from '../loops/held.ts'
import { elementBytes, isConstant, type Value } from '../loops/loops.ts'
import type { RunnableProgram } from '../program/program.ts'
import { type EmittedStep, emitted, type Step } from '../program/step.ts'
import { moduleBytes } from '../wasm/assembler.ts'
import { checkHeld, type WithConstants } from './constant-tensor.ts'
import { Constants, fill, type LaidConstant } from './constants.ts'
import { dotOf } from './dot.ts'
import { LEAST_STEPS, listOf, partsOf, type RunPart, sharedParts } from './parts.ts'
import { Pieces } from './pieces.ts'
import { type Room, recordBytes, writeRecord } from './records.ts'

const PAGE = 65_536
/** The first bytes stay unused, so that no address is 0. */
const START = 64
const MAX_PAGES = 65_536
const MAX_BYTES = 2 ** 32 - PAGE
/** The maximum to request on devices that reserve all shared memory up front. */
const MIN_SHARED = 256 * 1024 * 1024
/** Kernels need little stack. */
const STACK_BYTES = 65_536

export interface MachineOptions {
  /** Whether functions may use fused multiply-add, a relaxed SIMD instruction. */
  readonly fuse: boolean
  /** How codes are multiplied. Default: the best that this machine has with `fuse`; tests choose. */
  readonly dot?: Dot | undefined
  /** The engine's module, for programs that use its kernels, and for threads. Default: none. */
  readonly kernels?: WebAssembly.Module | undefined
  /** Starts a worker for each thread but the first. The module must then be a shared-memory build. */
  readonly workers?:
    | {
        readonly threads: number
        readonly start: () => ComputePort
        /** A thread claims at least this much of a step. Default: `LEAST_STEPS`; tests share all steps. */
        readonly leastSteps?: number | undefined
        /** How long workers wait in memory for the next run. Default: `WAIT_MS`; tests choose. */
        readonly waitMs?: number | undefined
      }
    | undefined
}

/** Encoded functions, by the keys of their kernels. */
export type Functions = ReadonlyMap<string, Uint8Array>

/** A program whose records are in the arena. */
interface PlacedProgram {
  readonly program: RunnableProgram
  readonly base: number
  /** Addresses by thread, then by step. */
  readonly records: readonly (readonly number[])[]
  readonly lists: readonly StepList[]
  /** The number of each step's function, or ENGINE_OP. */
  readonly numbers: readonly number[]
}

/** A program whose functions and constants are loaded. */
export interface LoadedProgram<Planned extends RunnableProgram = RunnableProgram> {
  readonly program: Planned
  readonly graph: WithConstants
  readonly constants: ReadonlySet<LaidConstant>
}

export class Machine {
  readonly #memory: WebAssembly.Memory
  readonly #fuse: boolean
  /** How this machine multiplies codes; found out for the first program that has some. */
  #dot: Dot | undefined
  readonly #engine: EngineExports | undefined
  readonly #sync: number
  /** Kernel functions by number; the numbers are the same on every thread. */
  readonly #functions: StepFunction[] = []
  readonly #numbers = new Map<string, number>()
  readonly #emitted = new Map<string, Uint8Array>()
  readonly #constants: Constants
  #pool: FunctionPool | undefined
  readonly #leastSteps: number
  readonly #pieces: Pieces
  #current: PlacedProgram | undefined
  #codeBytes = 0

  private constructor(options: MachineOptions) {
    const { fuse, kernels, workers } = options
    this.#fuse = fuse
    this.#dot = options.dot ?? (fuse ? undefined : 'pairs')
    this.#leastSteps = workers?.leastSteps ?? LEAST_STEPS
    this.#memory =
      kernels === undefined
        ? new WebAssembly.Memory({ initial: 1 })
        : createMemory(workers === undefined ? 'plain' : 'shared', MIN_SHARED, MAX_BYTES)
    this.#engine = kernels && instantiateEngine(kernels, this.#memory)
    // The engine's data and stack come first.
    this.#pieces = new Pieces(this.#engine === undefined ? START : Number(this.#engine.__heap_base.value))
    this.#constants = new Constants({
      buffer: () => this.#memory.buffer,
      take: (bytes) => this.#allocate(bytes),
      give: (address) => this.#pieces.give(address),
      instance: (module) => this.#instance(module),
      dot: () => this.#ownDot(),
    })
    this.#sync = this.#allocate(4 * SYNC_WORDS)
  }

  /**
   * Throws `out-of-memory`, and `internal` if the module is from another release or a worker does not start.
   */
  static async open(options: MachineOptions): Promise<Machine> {
    const machine = new Machine(options)
    const { kernels, workers } = options
    if (kernels === undefined || workers === undefined || workers.threads < 2) return machine
    machine.#pool = await FunctionPool.start({
      engine: machine.#engine!,
      sync: machine.#sync,
      gate: machine.#allocate(gateBytes(workers.threads - 1)),
      memory: machine.#memory,
      module: kernels,
      stackTops: Array.from(
        { length: workers.threads - 1 },
        () => machine.#allocate(STACK_BYTES) + STACK_BYTES,
      ),
      startWorker: workers.start,
      waitMs: workers.waitMs,
    })
    return machine
  }

  /** Terminates the workers. */
  dispose(): void {
    this.#pool?.dispose()
  }

  get threads(): number {
    return this.#pool?.threads ?? 1
  }

  /** Bytes of linear memory, and of the emitted functions. */
  get sizes(): { readonly memoryBytes: number; readonly codeBytes: number; readonly functions: number } {
    const { byteLength } = this.#memory.buffer
    return { memoryBytes: byteLength, codeBytes: this.#codeBytes, functions: this.#numbers.size }
  }

  /**
   * Compiles the functions that the program still needs, and loads its constants. `functions`: those that
   * were emitted earlier.
   */
  async load<Planned extends RunnableProgram>(
    program: Planned,
    graph: WithConstants,
    signal?: AbortSignal,
    functions?: Functions,
  ): Promise<LoadedProgram<Planned>> {
    const loaded = { program, graph, constants: new Set<LaidConstant>() }
    try {
      const start = performance.now()
      await this.#loadConstants(loaded, signal)
      endSpan('lay out the weights', start)
      await this.#emit(program, graph, functions)
      return loaded
    } catch (error) {
      this.unload(loaded)
      throw error
    }
  }

  /** The functions of a loaded program, except those that multiply codes as only this machine does. */
  functionsOf({ steps }: RunnableProgram): Functions {
    return new Map(
      emitted(steps).flatMap(({ key, call }) =>
        call.product?.codes === undefined ? [[key, this.#emitted.get(key)!] as const] : [],
      ),
    )
  }

  /** Frees the constants that no other program uses. The program must not run again. */
  unload({ constants }: LoadedProgram): void {
    for (const laid of constants) this.#constants.release(laid)
  }

  async #loadConstants(
    { program, graph, constants }: LoadedProgram & { readonly constants: Set<LaidConstant> },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const use = async (laying: Promise<LaidConstant>): Promise<void> => {
      const laid = await laying
      if (!constants.has(laid)) laid.users++
      constants.add(laid)
    }
    const plain = async ({ at }: Pick<StreamPlace, 'at'>): Promise<void> => {
      if ('value' in at && isConstant(at.value)) await use(this.#constants.loadPlain(graph, at.value, signal))
    }
    for (const step of program.steps) {
      if ('kernel' in step) {
        const { kernel } = step
        await plain({ at: { value: kernel.args[0].value, offset: 0 } })
        if (kernel.loop === 'linear')
          await use(this.#constants.loadMatrix(graph, kernel.matrix, kernel.encoding, signal))
        continue
      }
      const { kernel, streams, product } = step.call
      for (const stream of streams) await plain(stream)
      if (product === undefined) continue
      await plain(product.a)
      if (product.windows !== undefined) {
        await plain(product.windows.rows)
        await plain(product.windows.gaps)
      }
      if (kernel.product?.b === 'packed') await use(this.#constants.loadPacked(graph, product, signal))
      else await plain(product.b)
    }
  }

  #ownDot(): Dot {
    this.#dot ??= dotOf()
    return this.#dot
  }

  /** How codes are multiplied in a step, whose constants are loaded. Undefined without codes. */
  #dotIn({ call: { product } }: EmittedStep, graph: WithConstants): Dot | undefined {
    return product?.codes && this.#constants.dotOf(graph, product)
  }

  /** Equal for steps that share a function on this machine. */
  #keyOf(step: EmittedStep, graph: WithConstants): string {
    const dot = this.#dotIn(step, graph)
    return dot === undefined || dot === this.#ownDot() ? step.key : `${dot} ${step.key}`
  }

  async #emit(
    program: RunnableProgram,
    graph: WithConstants,
    functions: Functions = new Map(),
  ): Promise<void> {
    const missing = new Map<string, EmittedStep>()
    for (const step of emitted(program.steps)) {
      const key = this.#keyOf(step, graph)
      if (!this.#numbers.has(key)) missing.set(key, step)
    }
    if (missing.size === 0) return
    let start = performance.now()
    const bodies = [...missing].map(
      ([key, step]) =>
        [
          key,
          functions.get(key) ??
            emitKernel(step.call.kernel, { fuse: this.#fuse, dot: this.#dotIn(step, graph) ?? 'pairs' }),
        ] as const,
    )
    const bytes = moduleBytes(
      bodies.map(([, body]) => body),
      { parameters: PARAMETERS, sharedPages: this.#sharedPages },
    )
    endSpan('emit the functions', start)
    start = performance.now()
    const code = await WebAssembly.compile(bytes)
    for (const [key, body] of bodies) this.#emitted.set(key, body)
    this.#codeBytes += bytes.byteLength
    for (const key of missing.keys()) this.#numbers.set(key, this.#numbers.size)
    if (this.#pool === undefined) addFunctions({ functions: this.#functions, memory: this.#memory }, code)
    else this.#pool.add(code)
    endSpan('compile the functions', start)
  }

  /**
   * Rejects with `format` for an index outside its table, `unsupported` for an integer that overflows 32
   * bits, `out-of-memory` for a lack of memory, `internal` if a thread died, or with the signal's reason.
   * Runs must not overlap.
   */
  async run(
    { program, graph }: LoadedProgram,
    feeds: ReadonlyMap<string, Tensor>,
    signal?: AbortSignal,
  ): Promise<Map<string, Tensor>> {
    const placed = this.#place(program, graph)
    const { buffer } = this.#memory
    const addressOf = (value: Value): number => placed.base + program.places.get(value)!
    for (const [name, value] of program.lowered.inputs) {
      // Inputs that nothing reads have no memory.
      if (!program.places.has(value)) continue
      const { dtype, data } = feeds.get(name)!
      checkHeld(`the input ${name}`, dtype, data)
      fill(buffer, addressOf(value), value.kind, data)
    }
    let failure: HalfbyteError | undefined
    try {
      for (const [at, part] of partsOf(program.steps, this.#pool === undefined).entries()) {
        if (at > 0) await quickTurn()
        signal?.throwIfAborted()
        if (this.#pool === undefined) this.#runAlone(program, placed, part)
        else
          this.#pool.run(
            placed.lists.map((list) => listOf(list, part, this.threads)),
            this.#isShared(program, part),
          )
      }
    } finally {
      failure = this.#takeStatus(program, placed)
    }
    if (failure !== undefined) throw failure
    return new Map(
      program.lowered.outputs.map(({ name, ref, dtype }) => [
        name,
        readTensor(buffer, addressOf(ref.value), ref.value.kind, dtype, ref.view.dims),
      ]),
    )
  }

  #runAlone(
    { steps }: RunnableProgram,
    { numbers, records }: PlacedProgram,
    { from, to, units }: RunPart,
  ): void {
    for (let index = from; index < to; index++) {
      const step = steps[index]!
      const record = records[0]![index]!
      if ('kernel' in step) this.#engine!.run(this.#sync, record, rowsAfter(record), 0, 1, 0, 1)
      else {
        const { first, last } = units ?? { first: 0, last: step.units }
        this.#functions[numbers[index]!]!(record, first, last)
      }
    }
  }

  /**
   * Functions never read outside a table, but flag indices that would, and numbers that overflowed 32 bits.
   * Returns the run's first such error and clears the flags.
   */
  #takeStatus({ steps }: RunnableProgram, { records }: PlacedProgram): HalfbyteError | undefined {
    const words = new Int32Array(this.#memory.buffer)
    let failure: HalfbyteError | undefined
    for (const [index, step] of steps.entries()) {
      if ('kernel' in step || !hasStatus(step.call.kernel)) continue
      let status = 0
      for (const each of records) {
        const word = each[index]! / 4
        status |= words[word]!
        words[word] = 0
      }
      if (status !== 0) failure ??= (status & STATUS.index) === 0 ? leftError(step) : wrongIndex(step)
    }
    return failure
  }

  /** Writes the program's records, one set per thread, unless they are already in place. */
  #place(program: RunnableProgram, graph: WithConstants): PlacedProgram {
    const base = this.#pieces.top
    if (this.#current?.program === program && this.#current.base === base) return this.#current
    let next = base + program.arenaBytes
    const take = (bytes: number): number => {
      next += arenaAligned(bytes)
      return next - arenaAligned(bytes)
    }
    const threads = Array.from({ length: this.threads }, () => ({
      scratch: take(program.scratchBytes),
      records: program.steps.map((step) => take(recordBytes(step))),
      entries: take(4 * STEP_ENTRY_WORDS * program.steps.length),
    }))
    const states = take(4 * stateWords(this.threads) * program.steps.length)
    this.#grow(next)
    for (const { scratch, records } of threads) {
      const room: Room = {
        scratch,
        addressOf: ({ at }) => {
          if (!('value' in at)) return scratch + at.scratch
          const { value, offset } = at
          const isOwn = isConstant(value)
          return (
            (isOwn ? this.#constants.plain(graph, value) : base + program.places.get(value)!) +
            elementBytes(value) * offset
          )
        },
        packed: (product) => this.#constants.packed(graph, product),
        matrix: (matrix, encoding) => this.#constants.matrix(graph, matrix, encoding),
      }
      for (const [index, step] of program.steps.entries())
        writeRecord(this.#memory.buffer, step, records[index]!, room)
    }
    const lists = threads.map(({ entries }) => ({ entries, count: program.steps.length, states }))
    const numbers = program.steps.map((step) =>
      'kernel' in step ? ENGINE_OP : this.#numbers.get(this.#keyOf(step, graph))!,
    )
    if (this.#pool !== undefined) this.#writeLists(program, threads, numbers)
    this.#current = { program, base, records: threads.map(({ records }) => records), lists, numbers }
    return this.#current
  }

  #writeLists(
    { steps }: RunnableProgram,
    threads: readonly { readonly entries: number; readonly records: readonly number[] }[],
    numbers: readonly number[],
  ): void {
    const words = new Int32Array(this.#memory.buffer)
    for (const { entries, records } of threads)
      for (const [index, step] of steps.entries()) {
        const entry = entries / 4 + index * STEP_ENTRY_WORDS
        const isOp = 'kernel' in step
        words[entry + STEP_ENTRY.function] = numbers[index]!
        words[entry + STEP_ENTRY.record] = records[index]!
        words[entry + STEP_ENTRY.units] = isOp ? 1 : step.units
        words[entry + STEP_ENTRY.parts] = this.#parts(step)
      }
  }

  #parts(step: Step): number {
    return sharedParts(step, this.threads, this.#leastSteps)
  }

  /** Whether several threads can work on these steps at once. */
  #isShared({ steps }: RunnableProgram, { from, to }: RunPart): boolean {
    return steps.slice(from, to).some((step) => this.#parts(step) !== 1)
  }

  /** The maximum size of the memory, if threads share it. */
  get #sharedPages(): number | undefined {
    return this.#memory.buffer instanceof ArrayBuffer ? undefined : MAX_PAGES
  }

  /** Functions that this thread alone calls. */
  #instance(module: (sharedPages: number | undefined) => Uint8Array<ArrayBuffer>): WebAssembly.Exports {
    const code = new WebAssembly.Module(module(this.#sharedPages))
    return new WebAssembly.Instance(code, { env: { memory: this.#memory } }).exports
  }

  #allocate(bytes: number): number {
    const address = this.#pieces.take(bytes)
    this.#grow(this.#pieces.top)
    return address
  }

  #grow(bytes: number): void {
    const pages = Math.ceil((bytes - this.#memory.buffer.byteLength) / PAGE)
    if (pages <= 0) return
    try {
      if (bytes > MAX_BYTES) throw new RangeError('32-bit addresses end at 4 GiB')
      this.#memory.grow(pages)
    } catch (cause) {
      throw new HalfbyteError(
        'out-of-memory',
        `the network needs ${bytes} bytes of memory, which could not be allocated (${reasonOf(cause)}); give smaller inputs or close other tabs`,
        { bytes },
        { cause },
      )
    }
  }
}

const hasStatus = (kernel: Kernel): boolean =>
  canLeave(kernel) || kernel.streams.some(({ index }) => index !== undefined)

const leftError = ({ nodes }: Step): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${nodes.join(', ')} computes an integer that does not fit into the 32 bits with which the compiler computes i64; give smaller numbers, or use a model that computes them as floats`,
    { nodes: nodes.join() },
  )

const wrongIndex = ({ nodes }: Step): HalfbyteError =>
  new HalfbyteError(
    'format',
    `an index of ${nodes.join(', ')} is outside its table; check the ids in the inputs`,
    { nodes: nodes.join() },
  )

function readTensor(
  memory: ArrayBufferLike,
  address: number,
  kind: Value['kind'],
  dtype: Tensor['dtype'],
  dims: readonly number[],
): Tensor {
  const count = countOf(dims)
  const made = { dtype, dims, data: arrayOf(dtype, count) }
  const from =
    kind === 'f32' ? new Float32Array(memory, address, count) : new Int32Array(memory, address, count)
  const { data } = made
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    const words = wordsOf(data)
    for (let at = 0; at < count; at++) {
      words[2 * at] = from[at]!
      words[2 * at + 1] = from[at]! >> 31
    }
  } else if (dtype === 'f16' || dtype === 'bf16') data.set(from.map(rounder(dtype)))
  else data.set(from)
  return made
}
