// Runs plans: the functions of their kernels, the constants, and one arena for the values of a run.
import { SYNC_WORDS } from '../../abi/constants.ts'
import { HalfbyteError, reasonOf } from '../../base/errors.ts'
import type { Graph } from '../../onnx/ir/graph.ts'
import { arrayOf, countOf, rounder, type Tensor } from '../../onnx/ir/tensor.ts'
import { createMemory } from '../../runtime/memory/linear-memory.ts'
import { type EngineExports, instantiateEngine } from '../../runtime/module.ts'
import { emitKernel, PARAMETERS } from '../emit/emit.ts'
import type { StreamPlace } from '../emit/kernel.ts'
import type { Value } from '../loops/program.ts'
import { aligned } from '../plan/memory.ts'
import { emitted, type Plan, type Step } from '../plan/plan.ts'
import { moduleBytes } from '../wasm/assembler.ts'
import { Constants, fill } from './constants.ts'
import { type Room, recordBytes, rowsOfRecord, writeRecord } from './records.ts'

type KernelFunction = (record: number, first: number, last: number) => void

const PAGE = 65_536
/** The first bytes stay empty, so that no address is 0. */
const START = 64
const MOST_BYTES = 2 ** 32 - PAGE

export interface MachineOptions {
  /** Whether functions may use fused multiply-add, an instruction of relaxed SIMD. */
  readonly fuse: boolean
  /** The engine's module, for plans with steps that its kernels run. Default: there are none. */
  readonly kernels?: WebAssembly.Module | undefined
}

/** A plan whose functions and constants are there. */
export interface LoadedPlan {
  readonly plan: Plan
  readonly graph: Graph
}

export class Machine {
  readonly #memory: WebAssembly.Memory
  readonly #fuse: boolean
  readonly #engine: EngineExports | undefined
  readonly #sync: number
  readonly #functions = new Map<string, KernelFunction>()
  readonly #constants: Constants
  #top = START
  /** The plan whose records are in the arena, and the addresses of these. */
  #current: { readonly plan: Plan; readonly base: number; readonly records: readonly number[] } | undefined
  #codeBytes = 0

  /** Throws `out-of-memory`, and `internal` where the module is of another release. */
  constructor({ fuse, kernels }: MachineOptions) {
    this.#fuse = fuse
    this.#memory =
      kernels === undefined ? new WebAssembly.Memory({ initial: 1 }) : createMemory('plain', PAGE)
    this.#engine = kernels && instantiateEngine(kernels, this.#memory)
    // The engine's data and stack come first.
    if (this.#engine !== undefined) this.#top = Number(this.#engine.__heap_base.value)
    this.#constants = new Constants(
      () => this.#memory.buffer,
      (bytes) => this.#allocate(bytes),
    )
    this.#sync = this.#allocate(4 * SYNC_WORDS)
  }

  /** Bytes of linear memory, and of the functions that were made. */
  get sizes(): { readonly memoryBytes: number; readonly codeBytes: number; readonly functions: number } {
    const { byteLength } = this.#memory.buffer
    return { memoryBytes: byteLength, codeBytes: this.#codeBytes, functions: this.#functions.size }
  }

  /** Makes the functions that the plan lacks, and loads its constants. */
  async load(plan: Plan, graph: Graph, signal?: AbortSignal): Promise<LoadedPlan> {
    const plain = async ({ at }: Pick<StreamPlace, 'at'>): Promise<void> => {
      if ('value' in at && isConstant(at.value)) await this.#constants.loadPlain(graph, at.value, signal)
    }
    for (const step of plan.steps) {
      if ('kernel' in step) {
        const { kernel } = step
        await plain({ at: { value: kernel.args[0].value, offset: 0 } })
        if (kernel.loop === 'linear')
          await this.#constants.loadMatrix(graph, kernel.matrix, kernel.encoding, signal)
        continue
      }
      const { kernel, streams, product } = step.call
      for (const stream of streams) await plain(stream)
      if (product === undefined) continue
      await plain(product.a)
      if (kernel.product?.b === 'packed') await this.#constants.loadPacked(graph, product.matrix, signal)
      else await plain(product.b)
    }
    await this.#emit(plan)
    return { plan, graph }
  }

  async #emit(plan: Plan): Promise<void> {
    const missing = new Map(
      emitted(plan.steps)
        .filter(({ key }) => !this.#functions.has(key))
        .map(({ key, call }) => [key, call.kernel]),
    )
    if (missing.size === 0) return
    const bodies = [...missing.values()].map((kernel) => emitKernel(kernel, this.#fuse))
    const bytes = moduleBytes(bodies, { parameters: PARAMETERS })
    this.#codeBytes += bytes.byteLength
    const { instance } = await WebAssembly.instantiate(bytes, { env: { memory: this.#memory } })
    for (const [index, key] of [...missing.keys()].entries())
      this.#functions.set(key, instance.exports[`f${index}`] as KernelFunction)
  }

  /** Throws `format` for an index outside of its table, `out-of-memory`. */
  run({ plan, graph }: LoadedPlan, feeds: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
    const { base, records } = this.#place(plan, graph)
    const { buffer } = this.#memory
    const addressOf = (value: Value): number => base + plan.places.get(value)!
    for (const [name, value] of plan.program.inputs) {
      // Inputs that nothing reads have no place.
      if (plan.places.has(value)) fill(buffer, addressOf(value), value.kind, feeds.get(name)!.data)
    }
    const words = new Int32Array(buffer)
    for (const [index, step] of plan.steps.entries()) {
      const record = records[index]!
      if ('kernel' in step) {
        this.#engine!.run(this.#sync, record, rowsOfRecord(record), 0, 1, 0, 1)
        continue
      }
      this.#functions.get(step.key)!(record, 0, step.units)
      if (step.call.kernel.streams.some((stream) => stream.index !== undefined) && words[record / 4] !== 0) {
        words[record / 4] = 0
        throw wrongIndex(step)
      }
    }
    return new Map(
      plan.program.outputs.map(({ name, ref, dtype }) => [
        name,
        readTensor(buffer, addressOf(ref.value), ref.value.kind, dtype, ref.view.dims),
      ]),
    )
  }

  /** Writes the plan's records, unless they are there. */
  #place(plan: Plan, graph: Graph) {
    const base = aligned(this.#top)
    if (this.#current?.plan === plan && this.#current.base === base) return this.#current
    const sizes = plan.steps.map((step) => aligned(recordBytes(step)))
    this.#grow(sizes.reduce((sum, bytes) => sum + bytes, base + plan.arenaBytes + plan.scratchBytes))
    const scratch = base + plan.arenaBytes
    let next = scratch + plan.scratchBytes
    const records = sizes.map((bytes) => {
      next += bytes
      return next - bytes
    })
    const room: Room = {
      scratch,
      addressOf: ({ at }) => {
        if (!('value' in at)) return scratch + at.scratch
        const { value, offset } = at
        const start = isConstant(value) ? this.#constants.plain(graph, value) : base + plan.places.get(value)!
        return start + 4 * offset
      },
      packed: (matrix) => this.#constants.packed(graph, matrix),
      matrix: (matrix, encoding) => this.#constants.matrix(graph, matrix, encoding),
    }
    for (const [index, step] of plan.steps.entries())
      writeRecord(this.#memory.buffer, step, records[index]!, room)
    this.#current = { plan, base, records }
    return this.#current
  }

  #allocate(bytes: number): number {
    const address = aligned(this.#top)
    // Vectors that end a row may be read beyond it.
    this.#top = address + bytes + START
    this.#grow(this.#top)
    return address
  }

  #grow(bytes: number): void {
    const pages = Math.ceil((bytes - this.#memory.buffer.byteLength) / PAGE)
    if (pages <= 0) return
    try {
      if (bytes > MOST_BYTES) throw new RangeError('32-bit addresses end at 4 GiB')
      this.#memory.grow(pages)
    } catch (cause) {
      throw new HalfbyteError(
        'out-of-memory',
        `the network needs ${bytes} bytes of memory, which were refused (${reasonOf(cause)}); give smaller inputs or close other tabs`,
        { bytes },
        { cause },
      )
    }
  }
}

const isConstant = ({ given }: Value): boolean => given !== undefined && 'constant' in given

const wrongIndex = ({ nodes }: Step): HalfbyteError =>
  new HalfbyteError(
    'format',
    `an index of ${nodes.join(', ')} is outside of its table; check the ids that the inputs have`,
    { nodes: nodes.join() },
  )

function readTensor(
  memory: ArrayBuffer,
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
  if (data instanceof BigInt64Array || data instanceof BigUint64Array)
    for (let at = 0; at < count; at++) data[at] = BigInt(from[at]!)
  else if (dtype === 'f16' || dtype === 'bf16') data.set(from.map(rounder(dtype)))
  else data.set(from)
  return made
}
